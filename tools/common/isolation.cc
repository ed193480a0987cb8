// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/isolation.h"

#include <fmt/format.h>

namespace elixir::tools {

void declare_isolation_flags(Flags& flags, model::Isolation& isolation) {
  flags.group("Reading the model");
  flags.choice("--sandbox",
               process::kSandboxNames,
               &isolation.sandbox,
               "the process that reads the model may touch nothing; auto: where the kernel can see "
               "to that, require: or not at all, none: it may do what you may");
  flags.bytes("--model-memory", &isolation.memory_bytes, "memory that this process may take")
      .default_text("4 GiB and the size of the file");
  constexpr std::int64_t kDay_s = 86'400;
  flags.integer("--model-time",
                "SECONDS",
                &isolation.processor_seconds,
                {1, kDay_s},
                "processor time that this process may take");
}

model::ModelFile open_model(const std::string& path,
                            const model::Isolation& isolation,
                            Context& context) {
  model::ModelFile model = model::ModelFile::open(path, isolation);
  if (!model.unrestricted_because().empty()) {
    context.warn(
        fmt::format("the model is read without a sandbox: {}", model.unrestricted_because()),
        {"profile models of strangers where the kernel has seccomp; docs/trust.md says more"});
  }
  return model;
}

}  // namespace elixir::tools
