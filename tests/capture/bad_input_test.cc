// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Input that cannot be captured gives an Error with the right code, never a crash.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>

#include <ATen/ops/ones.h>
#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/capture.h"
#include "capture/record/arguments/values.h"
#include "core/error.h"
#include "core/files.h"
#include "fakes/error_of.h"
#include "models.h"

namespace elixir::capture {
namespace {

using tests::error_of;

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / ("elixir-bad-input-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& content) {
    const std::string path = directory_ / "model.pt";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  /// A copy of a test model with one record replaced or added.
  std::string with_record(const std::string& name, const std::string& content) {
    std::string path = directory_ / "changed.pt";
    caffe2::serialize::PyTorchStreamReader reader(test_model("frozen"));
    caffe2::serialize::PyTorchStreamWriter writer(path);
    bool replaced = false;
    for (const std::string& each : reader.getAllRecords()) {
      if (each == ".data/serialization_id" || each == "version") continue;  // from the writer
      const auto [old, bytes] = reader.getRecord(each);
      replaced = replaced || each == name;
      if (each == name) {
        writer.writeRecord(each, content.data(), content.size(), /*compress=*/true);
      } else {
        writer.writeRecord(each, old.get(), bytes);
      }
    }
    if (!replaced) writer.writeRecord(name, content.data(), content.size(), /*compress=*/true);
    writer.writeEndOfFile();
    return path;
  }

  struct Weight {
    std::string name;
    Sizes sizes;
    at::ScalarType dtype = at::kFloat;
    bool trains = true;
  };
  /// What capture says to a scripted model with these weights: `body` is the body of its forward,
  /// `inputs` are its arguments.
  ErrorInfo refusal(const std::string& body,
                    const std::vector<Weight>& weights,
                    const std::vector<std::string>& inputs,
                    const std::string& target) {
    torch::jit::Module module("__torch__.Scripted");
    for (const Weight& weight : weights) {
      const bool buffer = !at::isFloatingType(weight.dtype);
      module.register_parameter(weight.name,
                                at::ones(weight.sizes, at::TensorOptions().dtype(weight.dtype))
                                    .set_requires_grad(!buffer && weight.trains),
                                buffer);
    }
    Options options;
    options.target = *program::Target::parse(target);
    std::string arguments;
    for (const std::string& input : inputs) {
      arguments += ", " + input.substr(0, input.find(':'));
      options.inputs.push_back(*InputSpec::parse(input));
    }
    module.define("def forward(self" + arguments + "):\n" + body);
    const std::string path = directory_ / "scripted.pt";
    module.save(path);
    return error_of([&] { static_cast<void>(capture(Model::load(path), options)); });
  }

  std::filesystem::path directory_;
};

ErrorInfo load_error(const std::string& path) {
  return error_of([&] { Model::load(path); });
}

Options cpu_options() {
  Options options;
  options.target = *program::Target::parse("cpu");
  return options;
}

ErrorInfo capture_error(const std::string& name, const Options& options) {
  return error_of([&] { static_cast<void>(capture(Model::load(test_model(name)), options)); });
}

TEST_F(BadInput, AMissingFile) {
  EXPECT_EQ(load_error(directory_ / "none.pt").code, ErrorCode::kFileNotFound);
}

TEST_F(BadInput, ADirectory) {
  EXPECT_EQ(load_error(directory_).code, ErrorCode::kFileUnreadable);
}

TEST_F(BadInput, AnEmptyFile) {
  EXPECT_EQ(load_error(write("")).code, ErrorCode::kNotTorchScript);
}

TEST_F(BadInput, Text) {
  EXPECT_EQ(load_error(write("this is no model\n")).code, ErrorCode::kNotTorchScript);
}

TEST_F(BadInput, RandomBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::string bytes(1000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(load_error(write(bytes)).code, ErrorCode::kNotTorchScript);
    EXPECT_EQ(load_error(write("PK\x03\x04" + bytes)).code, ErrorCode::kTruncatedArchive);
  }
}

TEST_F(BadInput, AnArchiveWithoutCode) {
  const std::string path = directory_ / "state.pt";
  {
    caffe2::serialize::PyTorchStreamWriter writer(path);
    writer.writeRecord("data.pkl", "x", 1);
    writer.writeEndOfFile();
  }
  EXPECT_EQ(load_error(path).code, ErrorCode::kNotTorchScript);
}

TEST_F(BadInput, AnArchiveCutAnywhere) {
  const std::string whole = read_file(test_model("frozen"));
  for (const double part : {0.001, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99}) {
    const auto bytes = static_cast<std::size_t>(static_cast<double>(whole.size()) * part);
    EXPECT_EQ(load_error(write(whole.substr(0, bytes))).code, ErrorCode::kTruncatedArchive)
        << bytes;
  }
  for (std::size_t missing = 1; missing < 40; ++missing) {
    EXPECT_EQ(load_error(write(whole.substr(0, whole.size() - missing))).code,
              ErrorCode::kTruncatedArchive);
  }
}

TEST_F(BadInput, ADamagedArchiveNamesTheRecordOrStillLoads) {
  const std::string whole = read_file(test_model("frozen"));
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    try {
      Model::load(write(damaged));  // weights and padding are not checked
    } catch (const Error& error) {
      EXPECT_THAT(error.info().code,
                  AnyOf(ErrorCode::kTruncatedArchive, ErrorCode::kNotTorchScript));
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(BadInput, ADamagedPickleIsNotInterpreted) {
  std::string damaged = read_file(test_model("frozen"));
  const std::size_t at = damaged.find("__torch__");  // in a pickle or in code
  ASSERT_NE(at, std::string::npos);
  damaged[at] = 'X';
  const ErrorInfo error = load_error(write(damaged));
  EXPECT_EQ(error.code, ErrorCode::kTruncatedArchive);
  EXPECT_THAT(error.message, HasSubstr("checksum"));
}

/// Positions of a record's content and of its entry in the central directory.
struct RecordPlace {
  std::size_t content, entry;
};
RecordPlace find_record(const std::string& archive, const std::string& name) {
  const auto number = [&](std::size_t at, int bytes) {
    std::size_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) {
      value = value << 8 | static_cast<unsigned char>(archive[at + static_cast<std::size_t>(i)]);
    }
    return value;
  };
  for (std::size_t at = archive.find("PK\x01\x02"); at != std::string::npos;
       at = archive.find("PK\x01\x02", at + 4)) {
    const std::string found = archive.substr(at + 46, number(at + 28, 2));
    if (found.substr(found.find('/') + 1) != name) continue;
    const std::size_t local = number(at + 42, 4);
    return {local + 30 + number(local + 26, 2) + number(local + 28, 2), at};
  }
  ADD_FAILURE() << "no record " << name;
  return {};
}

/// Reads every parameter.
void read_all(const std::string& path) {
  const Model model = Model::load(path);
  for (const auto& parameter : model.module().named_parameters()) {
    static_cast<void>(model.read(parameter.name));
  }
}

TEST_F(BadInput, DamagedWeightsNameTheirRecordWhenTheyAreRead) {
  const std::string whole = read_file(test_model("gpt2"));
  EXPECT_NO_THROW(read_all(write(whole)));
  const RecordPlace place = find_record(whole, "data/0");
  std::string content = whole;
  content[place.content + 5] ^= 1;
  std::string checksum = whole;
  checksum[place.entry + 16] ^= 1;
  for (const std::string& damaged : {content, checksum}) {
    const ErrorInfo error = error_of([&] { read_all(write(damaged)); });
    EXPECT_EQ(error.code, ErrorCode::kTruncatedArchive);
    EXPECT_THAT(error.message, HasSubstr("record 'data/0' is damaged"));
  }
}

TEST_F(BadInput, ADamagedChecksumOfCompressedCodeIsFound) {
  std::string damaged = read_file(test_model("gpt2"));
  std::string name;
  for (std::size_t at = damaged.find("code/__torch__"); name.empty();) {
    name = damaged.substr(at, damaged.find(".py", at) + 3 - at);
  }
  damaged[find_record(damaged, name).entry + 16] ^= 1;
  const ErrorInfo error = load_error(write(damaged));
  EXPECT_EQ(error.code, ErrorCode::kTruncatedArchive);
  EXPECT_THAT(error.message, HasSubstr("record '" + name + "' is damaged"));
}

/// The same archive, but one record of weights lacks its last bytes.
TEST_F(BadInput, AShortRecordOfWeightsIsNamedInsteadOfBeingDrawn) {
  const std::string path = directory_ / "short.pt";
  {
    caffe2::serialize::PyTorchStreamReader reader(test_model("gpt2"));
    caffe2::serialize::PyTorchStreamWriter writer(path);
    for (const std::string& name : reader.getAllRecords()) {
      if (name == ".data/serialization_id" || name == "version") continue;  // from the writer
      const auto [content, bytes] = reader.getRecord(name);
      const std::size_t kept = name == "data/1" ? bytes - 1 : bytes;
      writer.writeRecord(name, content.get(), kept, name.rfind("code/", 0) == 0);
    }
    writer.writeEndOfFile();
  }
  const ErrorInfo error = load_error(path);
  EXPECT_EQ(error.code, ErrorCode::kTruncatedArchive);
  EXPECT_THAT(error.message, HasSubstr("record 'data/1' holds 16383 bytes"));
}

TEST_F(BadInput, AnArchiveWithARecordOfItsOwnStillLoads) {
  EXPECT_NO_THROW(Model::load(with_record("extra/note", "nothing")));
}

TEST_F(BadInput, APipeIsRefusedWithoutWaiting) {
  const std::string path = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(load_error(path).code, ErrorCode::kFileUnreadable);
}

TEST_F(BadInput, SizesBeyondAnyMemory) {
  Options options = cpu_options();
  options.inputs = {*InputSpec::parse("input_ids:int64[4611686018427387904,4]")};
  const ErrorInfo error = capture_error("gpt2", options);
  EXPECT_EQ(error.code, ErrorCode::kBadInputSpec);
  EXPECT_THAT(error.message, HasSubstr("larger than any memory"));
}

TEST_F(BadInput, UnknownInputNamesTheNearest) {
  Options options = cpu_options();
  options.inputs = {*InputSpec::parse("input_id:int64[2,8]")};
  const ErrorInfo error = capture_error("gpt2", options);
  EXPECT_EQ(error.code, ErrorCode::kBadInputSpec);
  EXPECT_THAT(error.help, Contains(HasSubstr("'input_ids'")));
}

TEST_F(BadInput, AScriptedModelWithoutShapesAsksForThem) {
  const ErrorInfo error = capture_error("control-flow", cpu_options());
  EXPECT_EQ(error.code, ErrorCode::kBadInputSpec);
  EXPECT_THAT(error.message, HasSubstr("'x'"));
}

TEST_F(BadInput, WrongShapesGiveTheModelsOwnMessageAndItsModule) {
  Options options = cpu_options();
  options.inputs = {*InputSpec::parse("x:float32[2,33]"), *InputSpec::parse("labels:int64[2]")};
  const ErrorInfo error = capture_error("control-flow", options);
  EXPECT_EQ(error.code, ErrorCode::kModelRejectsInput);
  EXPECT_THAT(error.message, HasSubstr("first.0.norm"));
  EXPECT_THAT(error.message, HasSubstr("normalized_shape"));
}

TEST_F(BadInput, WrongDtypeGivesTheModelsOwnMessage) {
  Options options = cpu_options();
  options.inputs = {*InputSpec::parse("input_ids:float32[2,8]")};
  const ErrorInfo error = capture_error("gpt2", options);
  EXPECT_EQ(error.code, ErrorCode::kModelRejectsInput);
  EXPECT_THAT(error.message, HasSubstr("indices"));
}

/// A recurrent layer of width 8 with states of width 6.
constexpr const char* kLstm =
    "  return torch.lstm(x, [h, c], [self.a, self.b, self.d, self.e], True, 1, 0., True, False, "
    "False)[0].sum()\n";
constexpr const char* kGru =
    "  return torch.gru(x, h, [self.a, self.b, self.d, self.e], True, 1, 0., True, False, "
    "False)[0].sum()\n";

TEST_F(BadInput, RecurrentLayersThatDoNotFitAreRefusedOnEveryTarget) {
  const auto weights = [](std::int64_t gates) {
    return std::vector<Weight>{
        {"a", {6 * gates, 8}}, {"b", {6 * gates, 6}}, {"d", {6 * gates}}, {"e", {6 * gates}}};
  };
  const std::string x = "x:float32[5,3,8]";
  const std::string h = "h:float32[1,3,6]";
  const std::string c = "c:float32[1,3,6]";
  for (const char* target : {"cpu", "cuda:sm_90"}) {
    for (const std::vector<std::string>& inputs :
         {std::vector<std::string>{"x:float32[5,3,9]", h, c},
          {"x:bfloat16[5,3,8]", h, c},
          {x, "h:float32[1,3,7]", "c:float32[1,3,7]"},
          {x, "h:float32[1,2,6]", c},
          {x, "h:bfloat16[1,3,6]", "c:bfloat16[1,3,6]"}}) {
      const ErrorInfo error = refusal(kLstm, weights(4), inputs, target);
      EXPECT_EQ(error.code, ErrorCode::kModelRejectsInput) << target << " " << inputs[0];
    }
    for (const std::vector<std::string>& inputs : {std::vector<std::string>{"x:float32[5,3,9]", h},
                                                   {"x:bfloat16[5,3,8]", h},
                                                   {x, "h:float32[1,3,7]"},
                                                   {x, "h:bfloat16[1,3,6]"}}) {
      const ErrorInfo error = refusal(kGru, weights(3), inputs, target);
      EXPECT_EQ(error.code, ErrorCode::kModelRejectsInput) << target << " " << inputs[0];
    }
  }
  EXPECT_THAT(refusal(kLstm, weights(4), {"x:float32[5,3,9]", h, c}, "cuda:sm_90").message,
              HasSubstr("input.size(-1) must be equal to input_size. Expected 8, got 9"));
  const ErrorInfo half = refusal(kLstm, weights(4), {"x:bfloat16[5,3,8]", h, c}, "cuda:sm_90");
  EXPECT_THAT(half.message, HasSubstr("found input tensor with BFloat16"));
  EXPECT_THAT(half.help, Contains(HasSubstr("--precision bf16")));
}

TEST_F(BadInput, OtherDtypesThanLibTorchTakesAreRefused) {
  struct Case {
    std::string body;
    std::vector<Weight> weights;
    std::vector<std::string> inputs, targets;
    std::string says;
  };
  const std::vector<std::string> both{"cpu", "cuda:sm_90"};
  const std::vector<std::string> cuda{"cuda:sm_90"};
  for (const Case& each :
       {Case{"  return torch.conv2d(x, self.w).sum()\n",
             {{"w", {4, 3, 2, 2}}},
             {"x:bfloat16[2,3,8,8]"},
             both,
             "Input type (BFloat16) and weight type (Float) should be the same"},
        {"  return torch.layer_norm(x, [8], self.w, None, 1e-5, True).sum()\n",
         {{"w", {8}}},
         {"x:bfloat16[4,8]"},
         cuda,
         "expected scalar type BFloat16 but found Float"},
        {"  return torch.layer_norm(x, [8], self.w, None, 1e-5, True).sum()\n",
         {{"w", {8}, at::kBFloat16}},
         {"x:float32[4,8]"},
         both,
         ""},
        {"  return torch.group_norm(x, 2, self.w, self.w, 1e-5, True).sum()\n",
         {{"w", {4}}},
         {"x:bfloat16[2,4,3]"},
         cuda,
         "expected scalar type BFloat16 but found Float"},
        {"  return torch.batch_norm(x, self.w, self.w, None, None, True, 0.1, 1e-5, True).sum()\n",
         {{"w", {4}, at::kBFloat16}},
         {"x:float32[2,4]"},
         both,
         ""},
        {"  k = torch.mul(k, self.w)\n"
         "  return torch.scaled_dot_product_attention(q, k, k).sum()\n",
         {{"w", {8}, at::kBFloat16}},
         {"q:float32[2,2,4,8]", "k:bfloat16[2,2,4,8]"},
         both,
         "Expected query, key, and value to have the same dtype"},
        {"  return torch.bmm(x, self.w).sum()\n",
         {{"w", {2, 4, 4}}},
         {"x:bfloat16[2,4,4]"},
         both,
         "expected scalar type BFloat16 but found Float"},
        {"  return torch.mv(x, self.w).sum()\n",
         {{"w", {4}}},
         {"x:bfloat16[4,4]"},
         both,
         "expected scalar type BFloat16 but found Float"},
        {"  return torch.mm(x, self.w).sum()\n",
         {{"w", {4, 4}}},
         {"x:bfloat16[4,4]"},
         both,
         "expected mat1 and mat2 to have the same dtype"},
        {"  return torch.addmm(self.w, x, x).sum()\n", {{"w", {4}}}, {"x:bfloat16[4,4]"}, both, ""},
        {"  return torch.cross_entropy_loss(x, y, self.w)\n",
         {{"w", {4}}},
         {"x:bfloat16[3,4]", "y:int64[3]"},
         both,
         "expected scalar type BFloat16 but found Float"},
        {"  return torch.cross_entropy_loss(x * self.w, y)\n",
         {{"w", {4}}},
         {"x:float32[3,4]", "y:int32[3]"},
         both,
         ""},
        {"  return torch.lstm_cell(x, [h, c], self.a, self.b)[0].sum()\n",
         {{"a", {24, 8}}, {"b", {24, 6}}},
         {"x:float32[3,8]", "h:float32[3,6]", "c:float32[3,7]"},
         both,
         ""},
        {"  return torch.lstm_cell(x, [h, c], self.a, self.b)[0].sum()\n",
         {{"a", {24, 8}}, {"b", {24, 6}}},
         {"x:float32[3,8]", "h:float32[3,6]", "c:bfloat16[3,6]"},
         cuda,
         "expected scalar type Float but found BFloat16"},
        {"  return torch.mm(x, x).sum() * self.w\n",
         {{"w", {}}},
         {"x:int32[4,4]"},
         cuda,
         "\"addmm_cuda\" not implemented for 'Int'"}}) {
    for (const std::string& target : each.targets) {
      const ErrorInfo error = refusal(each.body, each.weights, each.inputs, target);
      EXPECT_EQ(error.code, ErrorCode::kModelRejectsInput) << target << each.body;
      EXPECT_THAT(error.message, HasSubstr(each.says)) << target << each.body;
    }
  }
}

TEST_F(BadInput, LengthsOfSequencesAreData) {
  for (const char* target : {"cpu", "cuda:sm_90"}) {
    const ErrorInfo packed =
        refusal("  return (torch._pack_padded_sequence(x, lengths, False)[0] * self.w).sum()\n",
                {{"w", {8}}},
                {"x:float32[5,3,8]", "lengths:int64[3]"},
                target);
    EXPECT_EQ(packed.code, ErrorCode::kDataDependent);
    EXPECT_THAT(packed.message, HasSubstr("aten::_pack_padded_sequence"));
    EXPECT_THAT(packed.help, testing::ElementsAre(HasSubstr("padded batch")));
    const ErrorInfo ctc = refusal("  return torch.ctc_loss(x * self.w, t, i, j, 0, 1, False)\n",
                                  {{"w", {4}}},
                                  {"x:float32[6,2,4]", "t:int64[2,3]", "i:int64[2]", "j:int64[2]"},
                                  target);
    EXPECT_EQ(ctc.code, ErrorCode::kDataDependent);
    EXPECT_THAT(ctc.help, testing::ElementsAre(HasSubstr("lists of ints")));
  }
}

TEST_F(BadInput, ACallThatBackwardRefusesIsNamedWithItsPhase) {
  const ErrorInfo error = refusal("  return torch._grouped_mm(x * 1.0, self.w, offs).sum()\n",
                                  {{"w", {4, 64, 32}, at::kBFloat16}},
                                  {"x:bfloat16[40,64]", "offs:int32[4]"},
                                  "cuda:sm_90");
  EXPECT_EQ(error.code, ErrorCode::kModelRejectsInput);
  EXPECT_THAT(error.message, HasSubstr("backward fails at aten::_grouped_mm in the root module"));
}

TEST_F(BadInput, StateThatForwardReadsAndAssignsIsRefused) {
  const auto said = [&](const std::string& body) {
    return refusal(body, {{"w", {8}}, {"n", {1}, at::kLong}}, {"x:float32[4,8]"}, "cpu");
  };
  const ErrorInfo error = said("  self.n = self.n + 1\n  return (x * self.w * self.n).sum()\n");
  EXPECT_EQ(error.code, ErrorCode::kUnsupportedModel);
  EXPECT_THAT(error.message, HasSubstr("forward assigns `n`"));
  EXPECT_THAT(error.help.front(), HasSubstr("add_"));
  EXPECT_EQ(said("  y = self.n\n  if bool(x.size(0) > 1):\n    self.n = y + 1\n  return (x * "
                 "self.w).sum()\n")
                .code,
            ErrorCode::kUnsupportedModel);
}

TEST_F(BadInput, DtypesThatProgramsDoNotHoldAreNamedWithTheirPlace) {
  // To Float8_e4m3fn and back, by their numbers.
  const ErrorInfo error = refusal(
      "  return (x.to(24).to(6) * self.w).sum()\n", {{"w", {8}}}, {"x:float32[4,8]"}, "cuda:sm_90");
  EXPECT_EQ(error.code, ErrorCode::kUnsupportedModel);
  EXPECT_THAT(error.message, AllOf(HasSubstr("Float8_e4m3fn"), HasSubstr("in the root module")));
  EXPECT_THAT(error.help, Contains(HasSubstr("bfloat16")));
}

TEST_F(BadInput, NoScalarLoss) {
  const ErrorInfo error = capture_error("no-loss", cpu_options());
  EXPECT_EQ(error.code, ErrorCode::kNoScalarLoss);
  EXPECT_THAT(error.help, Contains(HasSubstr("--loss")));
}

TEST_F(BadInput, ALossWithoutGradientSaysWhy) {
  const ErrorInfo frozen = refusal("  return (x * self.w).sum()\n",
                                   {{.name = "w", .sizes = {8}, .trains = false}},
                                   {"x:float32[4,8]"},
                                   "cpu");
  EXPECT_EQ(frozen.code, ErrorCode::kNoScalarLoss);
  EXPECT_EQ(frozen.message, "the model has no parameter that trains");
  EXPECT_THAT(frozen.help, testing::ElementsAre(HasSubstr("requires_grad_()")));
  const ErrorInfo unused = refusal("  return x.sum()\n", {{"w", {8}}}, {"x:float32[4,8]"}, "cpu");
  EXPECT_EQ(unused.code, ErrorCode::kNoScalarLoss);
  EXPECT_THAT(unused.message, HasSubstr("does not depend on any parameter"));
}

TEST_F(BadInput, WorkThatCannotBeCounted) {
  const ErrorInfo error = refusal("  return (torch.mm(x, y) * self.w).sum()\n",
                                  {{"w", {1}}},
                                  {"x:float32[4194304,1048576]", "y:float32[1048576,1048576]"},
                                  "cpu");
  EXPECT_EQ(error.code, ErrorCode::kUnsupportedModel);
  EXPECT_THAT(error.message, HasSubstr("more work than can be counted"));
  EXPECT_THAT(error.notes, Contains(HasSubstr("aten::mm")));
}

TEST_F(BadInput, ABranchOnDataEndsTheCapture) {
  Options options = cpu_options();
  options.inputs = inputs_of("branching", "float32");
  const ErrorInfo error = capture_error("branching", options);
  EXPECT_EQ(error.code, ErrorCode::kDataDependent);
  EXPECT_THAT(error.message, HasSubstr("aten::_local_scalar_dense"));
  EXPECT_THAT(error.notes, Contains(HasSubstr(".item()")));
  EXPECT_THAT(error.help, Contains(HasSubstr("torch.nn.functional.grouped_mm")));
}

TEST_F(BadInput, AListOfDataEndsTheCaptureInAForkToo) {
  Options options = cpu_options();
  options.inputs = inputs_of("forked-list", "float32");
  const ErrorInfo error = capture_error("forked-list", options);
  EXPECT_EQ(error.code, ErrorCode::kDataDependent);
  EXPECT_THAT(error.message, HasSubstr("tolist"));
}

TEST_F(BadInput, MissingKernelsAreReportedTogetherWithTheirModules) {
  const ErrorInfo error = capture_error("missing-kernels", cpu_options());
  EXPECT_EQ(error.code, ErrorCode::kMissingKernel);
  EXPECT_THAT(error.notes, Contains(HasSubstr("aten::segment_reduce in module 'inner'")));
  EXPECT_THAT(error.notes, Contains(HasSubstr("aten::histogram.bin_ct in the root module")));
}

/// For int32 targets on the host, LibTorch runs cuDNN's kernel, for which there is no rule.
TEST_F(BadInput, CtcLossThatCudnnWouldRun) {
  Options options = cpu_options();
  options.target = *program::Target::parse("cuda:sm_90");
  const ErrorInfo error = capture_error("host-targets", options);
  EXPECT_EQ(error.code, ErrorCode::kMissingKernel);
  EXPECT_THAT(error.notes, Contains(HasSubstr("aten::_cudnn_ctc_loss in the root module")));
  EXPECT_NO_THROW(
      static_cast<void>(capture(Model::load(test_model("host-targets")), cpu_options())));
}

TEST_F(BadInput, APrecisionThatTheGraphContradicts) {
  Options options = cpu_options();
  options.precision = program::Precision::kBFloat16;
  const ErrorInfo error = capture_error("llama", options);
  EXPECT_EQ(error.code, ErrorCode::kDtypeFixedByGraph);
  EXPECT_THAT(error.message, HasSubstr("Float"));
}

}  // namespace
}  // namespace elixir::capture
