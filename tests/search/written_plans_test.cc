// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Whatever the search writes, elixir-train reads: the same plan, and one that holds the program.
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "program/trainable.h"
#include "search/search.h"
#include "search/searching.h"

namespace elixir::search {
namespace {

using program::DType;

/// Gives a parameter another dtype wherever it is read.
void set_dtype(program::Program& program, std::size_t position, DType dtype) {
  program::TensorRef& tensor = program.parameters[position].tensor;
  tensor.dtype = dtype;
  program.storages[static_cast<std::size_t>(tensor.storage)].bytes = tensor.bytes();
  for (program::Operator& op : program.operators) {
    program::for_each_tensor(op.arguments, [&](program::TensorRef& argument) {
      if (argument.storage == tensor.storage) argument.dtype = dtype;
    });
  }
}

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> kAll{DType::kFloat32,
                                       DType::kFloat64,
                                       DType::kFloat16,
                                       DType::kBFloat16,
                                       DType::kInt64,
                                       DType::kInt32,
                                       DType::kInt16,
                                       DType::kInt8,
                                       DType::kUInt8,
                                       DType::kUInt64,
                                       DType::kBool,
                                       DType::kComplex64,
                                       DType::kComplex128};
  return kAll;
}

/// What elixir-search and elixir-train refuse alike, before any plan.
bool is_refused(const program::Program& program) {
  try {
    program::refuse_untrainable(program);
  } catch (const Error&) {
    return true;
  }
  return false;
}

void expect_readable(const plan::Plan& plan, const program::Program& program) {
  const Json written = plan::to_json(plan);
  const plan::Plan read = plan::parse_plan(*JsonDocument::parse(dump(written), "plan.json"));
  EXPECT_EQ(dump(plan::to_json(read)), dump(written));
  plan::check_against(read, program);
}

TEST(WrittenPlans, HoldFrozenParametersOfEveryDTypeThatIsNotRefused) {
  const program::Program model = small_transformer();
  for (const DType dtype : all_dtypes()) {
    for (const bool trained : {false, true}) {
      program::Program program = model;
      if (!trained) program.parameters[1].gradient.reset();
      set_dtype(program, 1, dtype);
      const bool may_be = trained ? program::is_trainable(dtype) : !program::is_complex(dtype);
      EXPECT_EQ(is_refused(program), !may_be) << name_of(dtype) << trained;
      if (!may_be) continue;
      for (const std::string& strategy : strategies()) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + strategy);
        Request request;
        request.strategy = strategy;
        expect_readable(found(search(program, fakes::machine(false), request)).plan, program);
      }
    }
  }
}

TEST(WrittenPlans, OfRandomProgramsAndRequestsAreRead) {
  const std::vector<DType>& dtypes = all_dtypes();
  int plans = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    program::Program program = fakes::random_program(seed);
    for (std::size_t p = 0; p < program.parameters.size(); ++p) {
      if (!program.parameters[p].gradient && any(2) == 0) {
        set_dtype(program, p, dtypes[any(dtypes.size())]);
      }
    }
    const bool cuda = any(2) == 0;
    if (cuda) program = for_cuda(std::move(program));
    Request request;
    request.strategy = strategies()[any(strategies().size())];
    request.gpus = cuda ? 1 << any(3) : 1;
    request.accumulation_steps = 1 + static_cast<int>(any(3));
    request.clip_gradients = any(2) == 0;
    request.moment_dtype = any(2) == 0 ? DType::kBFloat16 : DType::kFloat32;
    request.reduce_per = any(2) == 0 ? plan::ReducePer::kStep : plan::ReducePer::kMicroBatch;
    request.reduce_dtype =
        any(2) == 0 ? plan::ReduceDType::kParameters : plan::ReduceDType::kFloat32;
    if (is_refused(program)) continue;
    const hardware::HardwareProfile hardware =
        request.gpus > 1 ? fakes::machine_of(request.gpus) : fakes::machine(cuda);
    const Outcome outcome = search(program, hardware, request);
    const auto* found = std::get_if<Found>(&outcome);
    if (found == nullptr) continue;
    SCOPED_TRACE(seed);
    expect_readable(found->plan, program);
    ++plans;
  }
  EXPECT_GT(plans, 30);
}

}  // namespace
}  // namespace elixir::search
