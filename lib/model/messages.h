// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a tool and the process that reads its model file say to each other, each message as one
// frame (process/frames.h). The tool asks, the process answers; one question at a time. The process
// may be in the hands of a hostile model: its answers are read like a stranger's file.
//
//   question   answers
//   (start)    kReady
//   kOpen      kOpened
//   kCapture   kCaptured, kProgram, kBytes for each constant, in the order of kCaptured
//   kExport    the tool sends kBytes for each tensor; the process kBytes, any number, then kDone
//   any        kError instead of the rest

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "model/data_file.h"
#include "model/options.h"
#include "program/program.h"

namespace elixir::model {

enum class Message : std::uint32_t {
  kOpen = 1,
  kCapture,
  kExport,
  kBytes,
  kReady,
  kOpened,
  kCaptured,
  kProgram,
  kDone,
  kError,
};

/// A tensor's dtype and its view of a storage, in elements.
struct Geometry {
  program::DType dtype = program::DType::kFloat32;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
};

/// Whether the elements of a view lie within a storage. Its numbers may be as large as they like.
[[nodiscard]] bool lies_within(const Geometry& geometry, std::int64_t storage_bytes);

/// What the process may do, as it says itself.
struct Ready {
  bool restricted = false;
  std::string why_not;
};

/// A parameter or buffer of the file.
struct StateEntry {
  std::vector<std::string> names;  ///< all; several when tied
  Geometry geometry;
  std::int64_t storage_bytes = 0;
  std::optional<Record> record;  ///< nullopt: the file has no data for it
  std::uint64_t first_byte = 0;  ///< where in the record its storage begins
};

struct Opened {
  std::vector<StateEntry> state;
  std::optional<std::string> recipe;  ///< the exporter's initialization.json
  bool says_persistent = false;       ///< which buffers a state_dict has (buffers.json)
};

struct CaptureRequest {
  Options options;
  bool with_constants = false;  ///< their values
};

/// What is said of a capture beside its program.
struct CaptureNotes {
  std::vector<std::string> warnings;
  std::int64_t unattributed_operators = 0;
  std::map<program::StorageId, Geometry> constants;
};

/// The tensors whose values an exported archive gets, and the inputs that it says it was traced
/// with.
struct ExportRequest {
  struct Tensor {
    std::vector<std::string> names;
    program::DType dtype = program::DType::kFloat32;
    std::vector<std::int64_t> sizes;
  };
  std::vector<Tensor> tensors;
  std::vector<InputSpec> inputs;
};

// Each message as JSON, and back. Reading throws as documents do.
[[nodiscard]] std::string text_of(const Ready& ready);
[[nodiscard]] std::string text_of(const Opened& opened);
[[nodiscard]] std::string text_of(const CaptureRequest& request);
[[nodiscard]] std::string text_of(const CaptureNotes& notes);
[[nodiscard]] std::string text_of(const ExportRequest& request);
[[nodiscard]] std::string text_of(const ErrorInfo& error);
[[nodiscard]] Ready read_ready(std::string text);
[[nodiscard]] Opened read_opened(std::string text);
[[nodiscard]] CaptureRequest read_capture_request(std::string text);
[[nodiscard]] CaptureNotes read_capture_notes(std::string text);
[[nodiscard]] ExportRequest read_export_request(std::string text);
/// Only errors of models (EX03nn) can come from one. Texts are cut to what a screen can show.
[[nodiscard]] ErrorInfo read_error(std::string text);

}  // namespace elixir::model
