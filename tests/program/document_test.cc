// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/document.h"
#include "program/workspace_answers.h"

#include <filesystem>
#include <limits>
#include <string>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "memory/step/timeline.h"
#include "program/canonical.h"
#include "program/document/schema.h"

namespace elixir::program {
namespace {

TensorRef tensor(StorageId storage, std::vector<std::int64_t> sizes, std::int32_t version = 0) {
  TensorRef ref{.storage = storage, .version = version, .sizes = std::move(sizes)};
  ref.strides.assign(ref.sizes.size(), 1);
  for (std::size_t d = ref.sizes.size(); d-- > 1;)
    ref.strides[d - 1] = ref.strides[d] * ref.sizes[d];
  return ref;
}

/// y = relu(x w); loss = sum(y). Contains every kind of argument.
Program sample() {
  Program program;
  program.target = {.kind = Target::Kind::kCpu, .sm = 0};
  program.modules = {"", "layer \"0\""};
  program.storages = {
      {.id = 0,
       .bytes = 24,
       .category = Category::kParameter,
       .allocated_at = -1,
       .freed_after = 3},
      {.id = 1, .bytes = 16, .category = Category::kInput, .allocated_at = -1, .freed_after = 3},
      {.id = 2,
       .bytes = 24,
       .category = Category::kActivation,
       .allocated_at = 0,
       .freed_after = 2},
      {.id = 3, .bytes = 4, .category = Category::kTemporary, .allocated_at = 1, .freed_after = 3},
      {.id = 4, .bytes = 24, .category = Category::kGradient, .allocated_at = 2, .freed_after = 3},
  };
  program.operators = {
      {.id = 0,
       .name = "aten::mm",
       .module = 1,
       .arguments = {tensor(1, {2, 2}), tensor(0, {2, 3})},
       .outputs = {tensor(2, {2, 3})},
       .flops = 24},
      {.id = 1,
       .name = "aten::sum",
       .overload = "dim",
       .arguments = {tensor(2, {2, 3}),
                     Ints{},
                     true,
                     None{},
                     1.0,
                     std::numeric_limits<double>::infinity(),
                     std::string("a\"\\\n\xc3\xa9"),
                     Doubles{0.5, -1.0},
                     Bools{true, false},
                     DeviceName{"cpu"},
                     std::complex<double>(1, -2),
                     std::int64_t{-7},
                     Tensors{tensor(2, {2, 3}), std::nullopt}},
       .outputs = {tensor(3, {})}},
      {.id = 2,
       .name = "aten::mm",
       .phase = Phase::kBackward,
       .module = 0,
       .arguments = {tensor(1, {2, 2}), tensor(2, {2, 3})},
       .outputs = {tensor(4, {2, 3})},
       .writes = true},
  };
  program.parameters = {{.name = "w",
                         .names = {"w", "tied.w"},
                         .tensor = tensor(0, {2, 3}),
                         .gradient = tensor(4, {2, 3})}};
  program.inputs = {{.name = "x", .tensor = tensor(1, {2, 2})}};
  program.loss = tensor(3, {});
  return program;
}

std::string text_of(const Profile& profile) {
  std::string text;
  write_profile(profile, [&text](std::string_view piece) { text += piece; });
  return text;
}

class ProfileDocument : public ::testing::Test {
 protected:
  ProfileDocument() {
    profile_.model_path = "model.pt";
    profile_.program = sample();
    profile_.memory = memory::summarise(profile_.program, program::Optimizer::kAdamW);
    profile_.meta = make_meta("elixir-profile", {"elixir-profile", "model.pt"});
  }
  void SetUp() override {
    path_ = ::testing::TempDir() + "document_test_" + std::to_string(::getpid()) + ".json";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Profile reload(const std::string& text) {
    write_file(path_, text, Overwrite::kAllow);
    return load_profile(path_);
  }
  ErrorInfo error_of(const std::string& from, const std::string& to) {
    std::string text = text_of(profile_);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      reload(text);
    } catch (const Error& error) {
      return error.info();
    }
    ADD_FAILURE() << "accepted with " << to;
    return {};
  }

  Profile profile_;
  std::string path_;
};

TEST_F(ProfileDocument, ReadsBackWhatItWrote) {
  const std::string text = text_of(profile_);
  const Profile read = reload(text);
  EXPECT_EQ(text_of(read), text);
  ASSERT_EQ(read.program.operators.size(), profile_.program.operators.size());
  for (std::size_t i = 0; i < read.program.operators.size(); ++i) {
    EXPECT_EQ(read.program.operators[i].arguments, profile_.program.operators[i].arguments) << i;
    EXPECT_EQ(canonical_text(read.program.operators[i]),
              canonical_text(profile_.program.operators[i]));
    EXPECT_EQ(read.program.operators[i].module, profile_.program.operators[i].module);
  }
  EXPECT_EQ(fingerprint(read.program), fingerprint(profile_.program));
}

/// Two of the three calls are modelled.
Certainty two_modelled() {
  return {.exact_calls = 1,
          .modelled_calls = 2,
          .modelled_operators = {{.name = "aten::mm",
                                  .calls = 2,
                                  .known_bytes = 64,
                                  .modules = {{.path = "", .calls = 1}}}},
          .modelled_bytes_at_peak = 64,
          .may_be_off = {.allocated_bytes = 512},
          .reasons = {"a \"reason\""}};
}

TEST_F(ProfileDocument, KeepsItsLabels) {
  profile_.memory.certainty = two_modelled();
  EXPECT_EQ(reload(text_of(profile_)).memory.certainty, two_modelled());
  profile_.memory.certainty.reset();
  EXPECT_EQ(reload(text_of(profile_)).memory.certainty, std::nullopt);
}

TEST_F(ProfileDocument, KeepsWorkspacesAtThePeak) {
  profile_.memory.workspaces_at_peak = {{.made_at = 1, .bytes = 4096},
                                        {.made_at = std::nullopt, .bytes = 512}};
  profile_.memory.peak_allocated_bytes = 4608;
  EXPECT_EQ(reload(text_of(profile_)).memory.workspaces_at_peak,
            profile_.memory.workspaces_at_peak);
  const ErrorInfo info = error_of("\"operator\": 1", "\"operator\": 3");
  EXPECT_EQ(info.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(info.where->pointer, "/memory/workspaces_at_peak/0/operator");
  profile_.memory.peak_allocated_bytes = 4607;
  EXPECT_THROW(static_cast<void>(reload(text_of(profile_))), Error);
}

/// As documents of version 1.4 say it.
TEST_F(ProfileDocument, MayLackWhatLabelsRestOn) {
  profile_.memory.certainty = two_modelled();
  Json old = Json::parse(text_of(profile_));
  old["schema_version"] = "1.4";
  old["memory"].erase("workspaces_at_peak");
  for (const char* key : {"measured_operators", "may_be_off", "reasons"}) {
    old["memory"]["certainty"].erase(key);
  }
  old["memory"]["certainty"]["modelled_operators"][0].erase("modules");
  const Certainty labels = *reload(dump(old)).memory.certainty;
  EXPECT_EQ(labels.modelled_calls, 2);
  EXPECT_EQ(labels.may_be_off, MayBeOff());
}

TEST_F(ProfileDocument, OfTheOldVersionHasNoLabels) {
  const std::string label = ",\n    \"certainty\": null";
  // A new one that lacks them is damaged.
  EXPECT_EQ(error_of(label, "").code, ErrorCode::kJsonMissingKey);
  std::string old = text_of(profile_);
  const std::string version = fmt::format("\"schema_version\": \"{}\"", kProfileVersion);
  ASSERT_NE(old.find(version), std::string::npos);
  old.replace(old.find(version), version.size(), "\"schema_version\": \"1.0\"");
  old.erase(old.find(label), label.size());
  EXPECT_EQ(reload(old).memory.certainty, std::nullopt);
}

TEST_F(ProfileDocument, SaysWhoUpdatesParameters) {
  profile_.optimizer = Optimizer::kSgdMomentum;
  profile_.optimizer_form = OptimizerForm::kTorchLoop;
  const Profile back = reload(text_of(profile_));
  EXPECT_EQ(back.optimizer_use().text(), "sgd-momentum (torch-loop)");
  EXPECT_EQ(error_of("torch-loop", "torch-slow").where->pointer, "/optimizer_form");
  profile_.clips_gradients = true;
  EXPECT_EQ(reload(text_of(profile_)).optimizer_use().text(),
            "sgd-momentum (torch-loop, clip_grad_norm_)");
  // Documents of version 1.3 do not say it.
  std::string unclipped = text_of(profile_);
  const std::string clips = "  \"clips_gradients\": true,\n";
  ASSERT_NE(unclipped.find(clips), std::string::npos);
  EXPECT_FALSE(reload(unclipped.erase(unclipped.find(clips), clips.size())).clips_gradients);
  // Nor do those of version 1.2 say who updates.
  std::string old = text_of(profile_);
  const std::string form = "  \"optimizer_form\": \"torch-loop\",\n";
  ASSERT_NE(old.find(form), std::string::npos);
  EXPECT_EQ(reload(old.erase(old.find(form), form.size())).optimizer_form, OptimizerForm::kElixir);
}

TEST_F(ProfileDocument, KeepsAnswersOfCudnnOutsideOfItsFingerprint) {
  const std::string before = fingerprint(profile_.program);
  profile_.program.workspaces = std::make_shared<const WorkspaceAnswers>(
      WorkspaceAnswers{.source = "cuDNN 9.19.0", .measured = false, .bytes = {{"a query", 4096}}});
  EXPECT_EQ(fingerprint(profile_.program), before);
  const Profile back = reload(text_of(profile_));
  ASSERT_NE(back.program.workspaces, nullptr);
  EXPECT_EQ(*back.program.workspaces, *profile_.program.workspaces);
  EXPECT_EQ(error_of("\"bytes\": 4096", "\"bytes\": -1").where->pointer,
            "/workspaces/queries/0/bytes");
  // Documents of version 1.1 have none.
  profile_.program.workspaces.reset();
  std::string old = text_of(profile_);
  const std::string none = "  \"workspaces\": null,\n";
  ASSERT_NE(old.find(none), std::string::npos);
  EXPECT_EQ(reload(old.erase(old.find(none), none.size())).program.workspaces, nullptr);
}

TEST_F(ProfileDocument, RefusesLabelsThatDoNotAddUp) {
  profile_.memory.certainty = two_modelled();
  const auto refuses = [this](const std::string& from, const std::string& to) {
    const ErrorInfo info = error_of(from, to);
    EXPECT_EQ(info.code, ErrorCode::kJsonBadValue) << to;
    ASSERT_TRUE(info.where);
    EXPECT_TRUE(info.where->pointer.starts_with("/memory/certainty")) << info.where->pointer;
  };
  refuses("\"exact_calls\": 1", "\"exact_calls\": 2");
  refuses("\"exact_calls\": 1", "\"exact_calls\": 9000000000000000000");
  refuses("\"calls\": 2", "\"calls\": 1");
  refuses("\"modelled_calls\": 2", "\"modelled_calls\": 0");
  refuses("\"path\": \"\",\n              \"calls\": 1", "\"path\": \"\", \"calls\": 3");
}

TEST_F(ProfileDocument, RefusesAnotherSchema) {
  EXPECT_EQ(error_of("elixir.profile", "elixir.plan").code, ErrorCode::kWrongSchema);
}

TEST_F(ProfileDocument, NamesPlaceOfAWrongType) {
  const ErrorInfo error = error_of(
      "\"sizes\":[2,3],\"strides\":[3,1],\"offset\":0,\"dtype\":\"float32\",\"wrapped_number\":"
      "false}],\"outputs\"",
      "\"sizes\":[2,-3],\"strides\":[3,1],\"offset\":0,\"dtype\":\"float32\",\"wrapped_number\":"
      "false}],\"outputs\"");
  ASSERT_TRUE(error.where.has_value());
  EXPECT_EQ(error.where->pointer, "/operators/0/arguments/1/sizes/1");
  EXPECT_TRUE(error.where->line.has_value());
}

TEST_F(ProfileDocument, RefusesAViewBeyondItsStorage) {
  const ErrorInfo error = error_of("\"bytes\":24,\"category\":\"activation\"",
                                   "\"bytes\":20,\"category\":\"activation\"");
  EXPECT_EQ(error.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error.where->pointer, "/operators/0/outputs/0");
}

TEST_F(ProfileDocument, RefusesAStorageThatDoesNotExist) {
  EXPECT_EQ(error_of("\"loss\": {\"storage\":3", "\"loss\": {\"storage\":33").where->pointer,
            "/model/loss");
}

TEST_F(ProfileDocument, RefusesAnInputInAnothersStorage) {
  EXPECT_EQ(error_of("\"name\":\"x\",\"tensor\":{\"storage\":1",
                     "\"name\":\"x\",\"tensor\":{\"storage\":0")
                .where->pointer,
            "/inputs/0/tensor");
}

TEST_F(ProfileDocument, RefusesABufferMadeInTheStep) {
  const ErrorInfo error = error_of(
      "\"buffers\": []",
      R"("buffers": [{"name":"b","names":["b"],"tensor":{"storage":2,"version":0,"sizes":[1],"strides":[1],"offset":0,"dtype":"float32","wrapped_number":false},"mutated":false}])");
  EXPECT_EQ(error.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error.where->pointer, "/model/buffers/0/tensor");
}

TEST_F(ProfileDocument, RefusesACallThatReadsWhatIsMadeLater) {
  const ErrorInfo error = error_of("\"arguments\":[{\"storage\":1,\"version\":0",
                                   "\"arguments\":[{\"storage\":1,\"version\":7");
  EXPECT_EQ(error.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(error.where->pointer, "/operators");
}

TEST_F(ProfileDocument, RefusesWorkThatNoMachineDoes) {
  EXPECT_EQ(error_of("\"flops\":24", "\"flops\":9223372036854775807").where->pointer,
            "/operators/0");
}

TEST_F(ProfileDocument, RefusesAProgramThatIsNotTheFingerprints) {
  EXPECT_EQ(error_of("\"flops\":24", "\"flops\":25").where->pointer, "/model/fingerprint");
  EXPECT_EQ(error_of("aten::sum", "aten::mean").where->pointer, "/model/fingerprint");
}

TEST_F(ProfileDocument, RefusesUnknownKeysModulesAndCategories) {
  EXPECT_EQ(error_of("\"unattributed_operators\"", "\"unatributed_operators\"").code,
            ErrorCode::kJsonUnknownKey);
  EXPECT_EQ(error_of("\"category\":\"gradient\"", "\"category\":\"gradients\"").code,
            ErrorCode::kJsonBadValue);
  EXPECT_EQ(error_of("\"module\":\"\"", "\"module\":\"elsewhere\"").code, ErrorCode::kJsonBadValue);
}

TEST_F(ProfileDocument, RefusesElementsThatAreNoRecords) {
  EXPECT_EQ(error_of("\"operators\": [", "\"operators\": [7,").code, ErrorCode::kJsonType);
  EXPECT_EQ(error_of("\"storages\": [", "\"storages\": [null,").code, ErrorCode::kJsonType);
}

TEST_F(ProfileDocument, EveryCutOfTheFileIsRefusedWithAPlace) {
  const std::string text = text_of(profile_);
  for (std::size_t length = 0; length + 1 < text.size(); length += 211) {
    write_file(path_, text.substr(0, length), Overwrite::kAllow);
    EXPECT_THROW(static_cast<void>(load_profile(path_)), Error) << length;
  }
}

TEST(Fingerprint, IgnoresWhatDoesNotRun) {
  const std::string before = fingerprint(sample());
  Program other = sample();
  other.modules[1] = "renamed";
  other.storages[2].freed_after = 3;
  other.storages[2].category = Category::kTemporary;
  EXPECT_EQ(fingerprint(other), before);
}

TEST(Fingerprint, SeesWhatRuns) {
  const std::string before = fingerprint(sample());
  const auto changed = [&before](auto change) {
    Program other = sample();
    change(other);
    return fingerprint(other) != before;
  };
  EXPECT_TRUE(changed([](Program& p) { p.operators[1].arguments[4] = 2.0; }));
  EXPECT_TRUE(changed([](Program& p) { p.operators[1].arguments[4] = std::int64_t{1}; }));
  EXPECT_TRUE(changed([](Program& p) { p.operators[0].flops = 1; }));
  EXPECT_TRUE(changed([](Program& p) { p.parameters[0].names.pop_back(); }));
  EXPECT_TRUE(changed([](Program& p) { p.parameters[0].requires_grad = false; }));
  EXPECT_TRUE(changed([](Program& p) { p.storages[0].content_digest = "00"; }));
  EXPECT_TRUE(changed([](Program& p) { p.target = {.kind = Target::Kind::kCuda, .sm = 90}; }));
}

TEST(Timeline, CountsRoundedStoragesWhileTheyLive) {
  const memory::Timeline timeline = memory::make_timeline(sample(), 1024);
  // parameter + input + optimizer, then + activation, + loss, + gradient.
  EXPECT_EQ(timeline.allocated_bytes,
            (std::vector<std::int64_t>{2048 + 512, 2048 + 1024, 2048 + 1536}));
  EXPECT_EQ(timeline.peak_bytes, 3584);
  EXPECT_EQ(timeline.peak_operator, 2);
  EXPECT_EQ(timeline.activations_peak_bytes, 512);
  EXPECT_EQ(timeline.live_at_peak.size(), 5U);
}

TEST(Timeline, OptimizerStateFollowsTheOptimizerAndThePrecision) {
  Program program = sample();
  EXPECT_EQ(memory::optimizer_state_bytes(program, program::Optimizer::kAdamW), 1024);
  EXPECT_EQ(memory::optimizer_state_bytes(program, program::Optimizer::kSgd), 0);
  program.parameters[0].tensor.dtype = DType::kBFloat16;
  EXPECT_EQ(memory::optimizer_state_bytes(program, program::Optimizer::kAdamW), 1536);
  program.parameters[0].gradient.reset();
  EXPECT_EQ(memory::optimizer_state_bytes(program, program::Optimizer::kAdamW), 0);
}

}  // namespace
}  // namespace elixir::program
