// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Runs a fuzz target without libFuzzer: first each file of the corpus, then mutations of them with
// a fixed seed, for ELIXIR_FUZZ_SECONDS (20) or ELIXIR_FUZZ_RUNS mutations, whichever ends first.
// An input that crashes, takes ten seconds or makes the process exceed two gigabytes is written to
// crash-TARGET in the current directory, and the exit code is not 0.
//
//   fuzz-pickle corpus/pickle            ELIXIR_FUZZ_SECONDS=3600 ELIXIR_FUZZ_SEED=7 fuzz-pickle …
//   fuzz-pickle crash-pickle             one file: only that input
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
/// As in libFuzzer, a target may define its own mutator.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t most,
                                                                     unsigned int seed);

namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostSeconds = 10;
constexpr long kMostKilobytes = 2L << 20;
constexpr std::size_t kLongestInput = std::size_t{1} << 16;

// For the signal handler, which may not allocate.
const std::string* current = nullptr;
char crash_name[256] = "crash";

void keep_input() {
  const int file = ::open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0 || current == nullptr) return;
  static_cast<void>(!::write(file, current->data(), current->size()));
  ::close(file);
}

extern "C" void on_crash(int signal) {
  keep_input();
  constexpr char kText[] = "the input that did it is kept\n";
  static_cast<void>(!::write(STDERR_FILENO, kText, sizeof kText - 1));
  ::signal(signal == SIGALRM ? SIGABRT : signal, SIG_DFL);
  ::raise(signal == SIGALRM ? SIGABRT : signal);
}

void install_handlers() {
  static char stack[1 << 16];  // a separate stack, because the normal one may have overflowed
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  ::sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    ::sigaction(signal, &action, nullptr);
  }
}

void run(const std::string& input) {
  current = &input;
  ::alarm(kMostSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  ::alarm(0);
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > kMostKilobytes) {
    std::fprintf(stderr, "%ld KB of memory\n", usage.ru_maxrss);
    std::abort();
  }
}

// Null if the target has none. Volatile, because in a unity build the compiler sees that it has
// one.
std::size_t (*const volatile custom_mutator)(std::uint8_t*,
                                             std::size_t,
                                             std::size_t,
                                             unsigned int) = LLVMFuzzerCustomMutator;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string next(const std::vector<std::string>& corpus) {
    std::string input = corpus[below(corpus.size())];
    if (custom_mutator != nullptr && input.size() <= kLongestInput) {
      const std::size_t size = input.size();
      input.resize(kLongestInput);
      input.resize(custom_mutator(reinterpret_cast<std::uint8_t*>(input.data()),
                                  size,
                                  kLongestInput,
                                  static_cast<unsigned int>(random_())));
      return input;
    }
    mutate(input, corpus);
    if (input.size() > kLongestInput) input.resize(kLongestInput);
    return input;
  }

  void mutate(std::string& input, const std::vector<std::string>& corpus) {
    const std::size_t changes = 1 + below(6);
    for (std::size_t i = 0; i < changes; ++i) change(input, corpus);
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  void change(std::string& input, const std::vector<std::string>& corpus) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = std::min(input.size() - at, std::size_t{1} << below(8));
    switch (below(9)) {
      case 0:
        if (at < input.size()) input[at] ^= static_cast<char>(1U << below(8));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(random_());
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, 1, static_cast<char>(random_()));
        break;
      case 4: {  // a piece many times over
        const std::string piece = input.substr(at, length);
        for (std::size_t n = std::size_t{1} << below(8); n > 0; --n) {
          if (input.size() < kLongestInput) input.insert(at, piece);
        }
        break;
      }
      case 5: {
        const std::string& other = corpus[below(corpus.size())];
        const std::size_t from = below(other.size());
        input.replace(at, length, other.substr(from, std::size_t{1} << below(8)));
        break;
      }
      case 6:
        number(input, at);
        break;
      case 7: {
        constexpr const char* kTexts[] = {
            "null", "{}", "[]", "\"\"", "-0", "1e999", "\xff", "(", "]", ",", ":", "\"nan\""};
        input.insert(at, kTexts[below(std::size(kTexts))]);
        break;
      }
      default: {  // bytes of a number that bounds something
        constexpr std::uint64_t kNumbers[] = {0,
                                              1,
                                              0x7f,
                                              0xff,
                                              0xffff,
                                              0x7fffffff,
                                              0xffffffff,
                                              0x7fffffffffffffff,
                                              0xffffffffffffffff};
        const std::uint64_t value = kNumbers[below(std::size(kNumbers))];
        const std::size_t bytes = std::min(input.size() - at, std::size_t{1} << below(4));
        std::memcpy(input.data() + at, &value, std::min<std::size_t>(bytes, 8));
      }
    }
  }

  /// Replaces the digits after `at` by another number.
  void number(std::string& input, std::size_t at) {
    constexpr const char* kNumbers[] = {"0",
                                        "-1",
                                        "1",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "4294967297",
                                        "1e308",
                                        "0.5",
                                        "1e-308",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "-9223372036854775808",
                                        "18446744073709551616"};
    const std::size_t begin = input.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(input.find_first_not_of("0123456789", begin), input.size());
    input.replace(begin, end - begin, kNumbers[below(std::size(kNumbers))]);
  }

  std::mt19937_64 random_;
};

std::vector<std::string> read_corpus(int count, char** paths) {
  std::vector<fs::path> files;
  for (int i = 0; i < count; ++i) {
    if (fs::is_directory(paths[i])) {
      for (const auto& entry : fs::directory_iterator(paths[i])) files.push_back(entry.path());
    } else {
      files.emplace_back(paths[i]);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// For LLVMFuzzerMutate.
Mutator* mutator_in_use = nullptr;
const std::vector<std::string>* corpus_in_use = nullptr;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

/// libFuzzer's default mutations, for a target's mutator.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  std::string input(reinterpret_cast<const char*>(data), size);
  mutator_in_use->mutate(input, *corpus_in_use);
  input.resize(std::min(input.size(), most));
  std::copy(input.begin(), input.end(), data);
  return input.size();
}

int main(int argc, char** argv) {
  const std::vector<std::string> corpus = read_corpus(argc - 1, argv + 1);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[0]);
    return 2;
  }
  std::snprintf(
      crash_name, sizeof crash_name, "crash-%s", fs::path(argv[0]).filename().string().c_str());
  install_handlers();
  for (const std::string& input : corpus) run(input);
  const bool one_file = argc == 2 && !fs::is_directory(argv[1]);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(setting("ELIXIR_FUZZ_SECONDS", 20));
  const std::uint64_t runs = one_file ? 0 : setting("ELIXIR_FUZZ_RUNS", UINT64_MAX);
  Mutator mutator(setting("ELIXIR_FUZZ_SEED", 1));
  mutator_in_use = &mutator;
  corpus_in_use = &corpus;
  std::uint64_t done = 0;
  while (done < runs && std::chrono::steady_clock::now() < end) {
    run(mutator.next(corpus));
    ++done;
  }
  std::printf("%zu files, %llu mutations\n", corpus.size(), static_cast<unsigned long long>(done));
  return 0;
}
