// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/ranks/job_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "runtime/ranks/proof.h"
#include "runtime/ranks/tcp_socket.h"

namespace elixir::tools {
namespace {

constexpr std::size_t kLeastBytes = 16, kMostBytes = 4096;
constexpr const char* kMakeOne = "`openssl rand -hex 32` prints one; all ranks need the same";

std::string without_blanks_at_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::string checked(std::string secret, const std::string& of) {
  if (secret.size() >= kLeastBytes) return secret;
  throw Error(ErrorCode::kBadFlagValue,
              "the secret in {} has {} characters, and can be guessed",
              of,
              secret.size())
      .help("use {} characters or more: {}", kLeastBytes, kMakeOne);
}

/// The secret in the file at `path`; empty: there is no file.
std::string read_secret(const std::string& path) {
  const runtime::Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) {
    if (errno == ENOENT) return "";
    throw file_error(
        ErrorCode::kFileUnreadable, path, "cannot read the job's secret: {}", std::strerror(errno));
  }
  struct stat status {};
  constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw file_error(ErrorCode::kFileUnreadable, path, "the job's secret is no file");
  }
  if ((status.st_mode & kOfOthers) != 0 || status.st_uid != ::geteuid()) {
    throw file_error(ErrorCode::kFileUnreadable,
                     path,
                     "the job's secret can be read by others, or belongs to another user")
        .help("make it yours alone: chmod 600 {}", path);
  }
  std::array<char, kMostBytes> bytes{};
  const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
  if (count < 0) {
    throw file_error(
        ErrorCode::kFileUnreadable, path, "cannot read the job's secret: {}", std::strerror(errno));
  }
  const std::string text(bytes.data(), static_cast<std::size_t>(count));
  return checked(without_blanks_at_end(text), path);
}

/// A new secret at `path`, unless one is there by then. It is never there without its content.
void make_secret(const std::string& path) {
  std::string begun = path + ".XXXXXX";
  std::string text;
  for (const char byte : runtime::fresh_nonce()) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  const runtime::Socket file(::mkostemp(begun.data(), O_CLOEXEC));  // its owner's alone
  const bool made =
      file.open() &&
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      (::link(begun.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  if (file.open()) ::unlink(begun.c_str());
  if (made) return;
  throw file_error(ErrorCode::kOutputUnwritable,
                   path,
                   "cannot keep the secret of this machine's ranks: {}",
                   std::strerror(error))
      .help("set {}: {}", kJobSecretVariable, kMakeOne);
}

/// All ranks that this user starts on this machine have it.
std::string secret_of_user() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string path = (folder / fmt::format("elixir-secret-{}", ::geteuid())).string();
  std::string secret = read_secret(path);
  if (!secret.empty()) return secret;
  make_secret(path);
  return read_secret(path);
}

}  // namespace

std::string job_secret(const Variables& variables, bool on_one_machine) {
  const auto set = [&](const char* name) -> std::string {
    const char* value = variables(name);
    return value == nullptr ? "" : value;
  };
  const std::string secret = set(kJobSecretVariable), path = set(kJobSecretFileVariable);
  if (!secret.empty() && !path.empty()) {
    throw Error(ErrorCode::kBadFlagValue,
                "{} and {} are both set",
                kJobSecretVariable,
                kJobSecretFileVariable)
        .help("unset one of them");
  }
  if (!secret.empty()) return checked(secret, kJobSecretVariable);
  if (path.empty()) return on_one_machine ? secret_of_user() : "";
  std::string read = read_secret(path);
  if (!read.empty()) return read;
  throw file_error(ErrorCode::kFileNotFound, path, "there is no file with the job's secret")
      .help("{} names it: {}", kJobSecretFileVariable, kMakeOne);
}

}  // namespace elixir::tools
