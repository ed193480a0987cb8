// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: the process that reads a model file for a tool (tools/elixir-capture.cc). It
// answers the questions of model/messages.h, and is restricted before it reads the file.

#include "capture/capture.h"
#include "model/data_file.h"
#include "model/messages.h"

namespace elixir::capture {

/// Makes LibTorch read and start all that it reads and starts once, because afterwards this process
/// can open no file and start no thread. With one thread for arithmetic.
void warm_up();

/// Answers questions that come from `questions` until it is closed. What is wrong with the model is
/// an answer, not an exception.
void serve(std::shared_ptr<const model::DataFile> file, int questions, int answers);

/// What a tool wants to know of a model that is open.
[[nodiscard]] model::Opened opened(const Model& model);

/// Writes the archive of `file` with other values. They are read from `questions`, one message
/// each, in the order of the request; the archive goes to `answers`.
void write_archive(std::shared_ptr<const model::DataFile> file,
                   const model::ExportRequest& request,
                   int questions,
                   int answers);

}  // namespace elixir::capture
