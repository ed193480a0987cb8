// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/weights.h"

#include <cmath>

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include "train/support.h"
#include "train/weights/initialization.h"
#include "train/weights/name_match.h"
#include "train/weights/weight_files.h"

namespace elixir::train {
namespace {

using program::DType;
using test::error_of;
using test::TemporaryDirectory;

program::Parameter parameter(std::vector<std::string> names,
                             std::vector<std::int64_t> sizes,
                             DType dtype = DType::kFloat32) {
  program::Parameter result;
  result.name = names.front();
  result.names = std::move(names);
  result.tensor = test::tensor(0, std::move(sizes), dtype);
  return result;
}

program::Program model(DType dtype = DType::kFloat32) {
  program::Program program;
  program.parameters = {parameter({"model.wte.weight", "model.head.weight"}, {4, 2}, dtype),
                        parameter({"model.norm.weight"}, {2}, dtype),
                        parameter({"model.norm.bias"}, {2}, dtype)};
  return program;
}

ArchiveData empty_archive() {
  return {"model.pt",
          [](const std::string&) { return false; },
          [](const std::string&) { return at::Tensor(); },
          std::nullopt};
}

std::string write(const TemporaryDirectory& directory,
                  const std::string& name,
                  const std::map<std::string, at::Tensor>& tensors) {
  std::vector<SafetensorsSource> sources;
  for (const auto& each : tensors) {
    const at::Tensor value = each.second;
    sources.push_back(
        {each.first, DType::kFloat32, value.sizes().vec(), [value] { return value; }});
  }
  write_safetensors(directory.file(name), std::move(sources), {}, Overwrite::kAllow);
  return directory.file(name);
}

at::Tensor filled(std::vector<std::int64_t> sizes, double value) {
  return at::full(sizes, value, at::TensorOptions().dtype(at::kFloat));
}

TEST(Weights, AFileFillsTheModelUnderStrippedPrefixesOfEitherSide) {
  const TemporaryDirectory directory;
  for (const std::string prefix : {"", "model.", "outer.model."}) {
    WeightOptions options;
    options.weights_path = write(directory,
                                 "w.safetensors",
                                 {{prefix + "wte.weight", filled({4, 2}, 3)},
                                  {prefix + "norm.weight", filled({2}, 4)},
                                  {prefix + "norm.bias", filled({2}, 5)}});
    const ChosenWeights chosen = choose_weights(model(), empty_archive(), options);
    EXPECT_EQ(chosen.from_file, 3);
    EXPECT_EQ(chosen.initialized, 0);
    EXPECT_TRUE(at::equal(chosen.source("model.wte.weight"), filled({4, 2}, 3)));
    EXPECT_TRUE(at::equal(chosen.source("model.norm.bias"), filled({2}, 5)));
  }
}

/// Every dot ends a prefix. 200,000 prefixes, each with its text, would use gigabytes.
TEST(Weights, ANameOfDotsCostsNoMoreThanItsBytes) {
  NameMatch match = match_names({std::string(200'000, '.'), "model.wte.weight"}, model());
  EXPECT_EQ(match.unexpected.size(), 1U);
  match = match_names({std::string(200'000, '.') + "model.wte.weight"}, model());
  EXPECT_EQ(match.file_prefix, std::string(200'000, '.'));
}

TEST(Weights, AnyNameOfATiedParameterServes) {
  const TemporaryDirectory directory;
  WeightOptions options;
  options.weights_path = write(directory,
                               "w.safetensors",
                               {{"model.head.weight", filled({4, 2}, 3)},
                                {"model.norm.weight", filled({2}, 4)},
                                {"model.norm.bias", filled({2}, 5)}});
  EXPECT_TRUE(
      at::equal(choose_weights(model(), empty_archive(), options).source("model.wte.weight"),
                filled({4, 2}, 3)));
}

TEST(Weights, NamesOfATiedParameterMustAgree) {
  const TemporaryDirectory directory;
  const auto choose = [&](const at::Tensor& first, const at::Tensor& second) {
    WeightOptions options;
    options.weights_path = write(directory,
                                 "w.safetensors",
                                 {{"model.wte.weight", first},
                                  {"model.head.weight", second},
                                  {"model.norm.weight", filled({2}, 4)},
                                  {"model.norm.bias", filled({2}, 5)}});
    return choose_weights(model(), empty_archive(), options).from_file;
  };
  const double nan = std::nan("");
  EXPECT_EQ(choose(filled({4, 2}, 3), filled({4, 2}, 3)), 3);
  EXPECT_EQ(choose(filled({4, 2}, nan), filled({4, 2}, nan)), 3) << "the same bytes";
  const ErrorInfo values = error_of([&] {
    (void)choose(filled({4, 2}, 3), filled({4, 2}, 3.0001));
  });
  EXPECT_EQ(values.code, ErrorCode::kWeightsMismatch);
  EXPECT_NE(values.message.find("`model.wte.weight` and `model.head.weight`"), std::string::npos);
  const ErrorInfo shapes = error_of([&] { (void)choose(filled({4, 2}, 3), filled({9, 2}, 3)); });
  EXPECT_EQ(shapes.code, ErrorCode::kWeightsMismatch);
  EXPECT_NE(shapes.notes.at(0).find("`model.head.weight` is F32 [9, 2]"), std::string::npos);
}

TEST(Weights, AFileOfWhichNothingMatchesIsRefusedUnderInitToo) {
  const TemporaryDirectory directory;
  WeightOptions options;
  options.missing = MissingWeights::kInitialize;
  options.weights_path = write(directory, "w.safetensors", {{"encoder.w", filled({4, 2}, 3)}});
  const ErrorInfo info = error_of([&] { (void)choose_weights(model(), empty_archive(), options); });
  EXPECT_EQ(info.code, ErrorCode::kWeightsMismatch);
  EXPECT_NE(info.notes.at(1).find("`encoder.w`"), std::string::npos);
}

TEST(Weights, FrozenParametersAreNotDrawn) {
  const TemporaryDirectory directory;
  program::Program lora = model();
  lora.parameters[0].requires_grad = false;
  WeightOptions options;
  options.missing = MissingWeights::kInitialize;
  const ErrorInfo info = error_of([&] { (void)choose_weights(lora, empty_archive(), options); });
  EXPECT_EQ(info.code, ErrorCode::kWeightsMismatch);
  EXPECT_NE(info.message.find("1 frozen parameter would"), std::string::npos);
  EXPECT_NE(info.message.find("`model.wte.weight`"), std::string::npos);
  options.weights_path = write(directory, "w.safetensors", {{"wte.weight", filled({4, 2}, 3)}});
  EXPECT_EQ(choose_weights(lora, empty_archive(), options).initialized, 2);
}

TEST(Weights, WhatIsNotUsedIsSaid) {
  const TemporaryDirectory directory;
  WeightOptions options;
  options.weights_path = write(directory,
                               "w.safetensors",
                               {{"wte.weight", filled({4, 2}, 3)},
                                {"norm.weight", filled({2}, 4)},
                                {"norm.bias", filled({2}, 5)},
                                {"extra.weight", filled({2}, 6)}});
  const ChosenWeights chosen = choose_weights(model(), empty_archive(), options);
  ASSERT_EQ(chosen.unused.size(), 1U);
  EXPECT_NE(chosen.unused[0].find("`extra.weight`"), std::string::npos);
  ArchiveData archive = empty_archive();
  archive.has = [](const std::string&) { return true; };
  WeightOptions init;
  init.missing = MissingWeights::kInitialize;
  EXPECT_EQ(choose_weights(model(), archive, init).unused,
            std::vector<std::string>{
                "--init replaces weights that the model file has: 3 of 3 parameters"});
  EXPECT_TRUE(choose_weights(model(), empty_archive(), init).unused.empty());
}

TEST(Weights, MissingAndUnexpectedNamesAreListed) {
  const TemporaryDirectory directory;
  WeightOptions options;
  options.weights_path = write(directory,
                               "w.safetensors",
                               {{"model.wte.weight", filled({4, 2}, 3)},
                                {"model.norm.gain", filled({2}, 4)},
                                {"model.norm.bias", filled({2}, 5)}});
  const ErrorInfo info = error_of([&] { (void)choose_weights(model(), empty_archive(), options); });
  EXPECT_EQ(info.code, ErrorCode::kWeightsMismatch);
  ASSERT_EQ(info.notes.size(), 2U);
  EXPECT_EQ(info.notes[0], "missing: `model.norm.weight`");
  EXPECT_EQ(info.notes[1], "unexpected: `model.norm.gain`");
}

TEST(Weights, InitFillsWhatTheFileLacksAndSaysSo) {
  const TemporaryDirectory directory;
  WeightOptions options;
  options.missing = MissingWeights::kInitialize;
  options.weights_path =
      write(directory, "w.safetensors", {{"model.wte.weight", filled({4, 2}, 3)}});
  const ChosenWeights chosen = choose_weights(model(), empty_archive(), options);
  EXPECT_EQ(chosen.from_file, 1);
  EXPECT_EQ(chosen.initialized, 2);
  EXPECT_TRUE(at::equal(chosen.source("model.norm.weight"), filled({2}, 1)));
  EXPECT_NE(chosen.messages.back().find("model.norm.weight"), std::string::npos);
}

TEST(Weights, OtherShapesAreRefusedWithBoth) {
  const TemporaryDirectory directory;
  WeightOptions options;
  options.weights_path = write(directory,
                               "w.safetensors",
                               {{"model.wte.weight", filled({2, 4}, 3)},
                                {"model.norm.weight", filled({2}, 4)},
                                {"model.norm.bias", filled({2}, 5)}});
  const ErrorInfo info = error_of([&] { (void)choose_weights(model(), empty_archive(), options); });
  EXPECT_EQ(info.code, ErrorCode::kWeightsMismatch);
  EXPECT_NE(info.notes.at(0).find("[2, 4]"), std::string::npos);
  EXPECT_NE(info.notes.at(0).find("[4, 2]"), std::string::npos);
}

TEST(Weights, ShardsAreFoundThroughTheirIndex) {
  const TemporaryDirectory directory;
  write(directory, "a.safetensors", {{"wte.weight", filled({4, 2}, 3)}});
  write(
      directory, "b.safetensors", {{"norm.weight", filled({2}, 4)}, {"norm.bias", filled({2}, 5)}});
  WeightOptions options;
  options.weights_path =
      directory.write("model.safetensors.index.json",
                      R"({"metadata":{"total_size":48},"weight_map":{"wte.weight":"a.safetensors",)"
                      R"("norm.weight":"b.safetensors","norm.bias":"b.safetensors"}})");
  EXPECT_EQ(choose_weights(model(), empty_archive(), options).from_file, 3);

  options.weights_path =
      directory.write("x.index.json", R"({"weight_map":{"wte.weight":"b.safetensors"}})");
  EXPECT_EQ(error_of([&] { (void)choose_weights(model(), empty_archive(), options); }).code,
            ErrorCode::kWeightsMismatch);
  options.weights_path =
      directory.write("y.index.json", R"({"weight_map":{"wte.weight":"../a.safetensors"}})");
  EXPECT_EQ(error_of([&] { (void)choose_weights(model(), empty_archive(), options); }).code,
            ErrorCode::kJsonBadValue);
}

TEST(Weights, Fp32RoundsToBf16WithTiesAwayFromZero) {
  const TemporaryDirectory directory;
  // 1 + 2^-8 is between two bf16 numbers. To even gives 1, away from zero gives 1 + 2^-7.
  WeightOptions options;
  options.weights_path = write(directory,
                               "w.safetensors",
                               {{"model.wte.weight", filled({4, 2}, 1.00390625)},
                                {"model.norm.weight", filled({2}, -1.00390625)},
                                {"model.norm.bias", filled({2}, 5)}});
  const ChosenWeights chosen = choose_weights(model(DType::kBFloat16), empty_archive(), options);
  const at::Tensor weight = chosen.source("model.wte.weight");
  EXPECT_EQ(weight.scalar_type(), at::kBFloat16);
  EXPECT_EQ(weight[0][0].to(at::kFloat).item<float>(), 1.0078125F);
  EXPECT_EQ(chosen.source("model.norm.weight")[0].to(at::kFloat).item<float>(), -1.0078125F);
}

TEST(Weights, TheArchivesOwnDataIsUsedUnlessInitIsAskedFor) {
  ArchiveData archive = empty_archive();
  archive.has = [](const std::string&) { return true; };
  archive.read = [](const std::string& name) {
    return name == "model.wte.weight" ? filled({4, 2}, 9) : filled({2}, 9);
  };
  EXPECT_EQ(choose_weights(model(), archive, {}).from_archive, 3);
  EXPECT_TRUE(
      at::equal(choose_weights(model(), archive, {}).source("model.norm.bias"), filled({2}, 9)));
  WeightOptions init;
  init.missing = MissingWeights::kInitialize;
  EXPECT_TRUE(
      at::equal(choose_weights(model(), archive, init).source("model.norm.bias"), filled({2}, 0)));
}

TEST(Weights, TheResultHasTheStridesOfTheProgram) {
  auto program = model();
  program.parameters[0].tensor.strides = {1, 4};
  const at::Tensor value = choose_weights(program, empty_archive(), {}).source("model.wte.weight");
  EXPECT_EQ(value.strides(), at::IntArrayRef({1, 4}));
}

TEST(Weights, BuffersWithoutDataAreNamed) {
  auto program = model();
  program::Buffer buffer;
  buffer.name = "model.rope.inv_freq";
  buffer.names = {buffer.name};
  buffer.tensor = test::tensor(7, {2}, DType::kFloat32);
  program.buffers = {buffer};
  const ErrorInfo info = error_of([&] { (void)choose_weights(program, empty_archive(), {}); });
  EXPECT_EQ(info.code, ErrorCode::kBufferWithoutData);
  EXPECT_NE(info.message.find("model.rope.inv_freq"), std::string::npos);
}

TEST(Weights, AnArchiveWithDataForSomeParametersIsRefusedWithoutInit) {
  ArchiveData archive = empty_archive();
  archive.has = [](const std::string& name) { return name != "model.norm.weight"; };
  archive.read = [](const std::string&) { return filled({2}, 7); };
  const ErrorInfo info = error_of([&] { (void)choose_weights(model(), archive, {}); });
  EXPECT_EQ(info.code, ErrorCode::kWeightsMismatch);
  EXPECT_NE(info.message.find("`model.norm.weight`"), std::string::npos);
  WeightOptions options;
  options.missing = MissingWeights::kInitialize;
  EXPECT_EQ(choose_weights(model(), archive, options).initialized, 3);
}

TEST(Weights, AParameterWithoutElementsIsNoDataForTheOthers) {
  program::Program program = model();
  program.parameters.push_back(parameter({"model.none"}, {0, 4}));
  ArchiveData archive = empty_archive();
  archive.has = [](const std::string& name) { return name == "model.none"; };
  archive.read = [](const std::string&) { return filled({0, 4}, 0); };
  const ChosenWeights chosen = choose_weights(program, archive, {});
  EXPECT_EQ(chosen.initialized, 3);
  EXPECT_TRUE(at::equal(chosen.source("model.none"), filled({0, 4}, 0)));
}

TEST(Initialization, FollowsTheRecipeByAnyNameAndElseTheDefault) {
  ArchiveData archive = empty_archive();
  archive.recipe_json = R"({"schema":"elixir.initialization","schema_version":"1.0","parameters":[)"
                        R"({"name":"model.head.weight","kind":"constant","value":0.25}]})";
  const ChosenWeights chosen = choose_weights(model(), archive, {});
  EXPECT_TRUE(at::equal(chosen.source("model.wte.weight"), filled({4, 2}, 0.25)));
  EXPECT_TRUE(at::equal(chosen.source("model.norm.weight"), filled({2}, 1)));
  EXPECT_TRUE(at::equal(chosen.source("model.norm.bias"), filled({2}, 0)));
  EXPECT_EQ(chosen.initialized, 3);
}

at::Tensor drawn(const Initializer& rule,
                 const std::string& name,
                 std::uint64_t seed,
                 const std::vector<std::int64_t>& sizes,
                 DType dtype = DType::kFloat32,
                 int threads = 2) {
  kernels::ThreadPool pool(threads);
  return initialize(rule, name, seed, sizes, dtype, pool);
}

TEST(Initialization, DependsOnSeedAndNameAlone) {
  const Initializer normal{Initializer::Kind::kNormal, 0, 1};
  const at::Tensor a = drawn(normal, "a", 1, {1001});
  EXPECT_TRUE(at::equal(a, drawn(normal, "a", 1, {1001})));
  EXPECT_TRUE(at::equal(a.slice(0, 0, 500), drawn(normal, "a", 1, {500})));
  EXPECT_TRUE(at::equal(a, drawn(normal, "a", 1, {1001}, DType::kFloat32, 1)));
  EXPECT_FALSE(at::equal(a, drawn(normal, "b", 1, {1001})));
  EXPECT_FALSE(at::equal(a, drawn(normal, "a", 2, {1001})));
}

TEST(Initialization, IsDrawnInTheDestinationsDtype) {
  const Initializer normal{Initializer::Kind::kNormal, 0, 1};
  const at::Tensor wide = drawn(normal, "a", 1, {3, 100});
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    const at::Tensor narrow = drawn(normal, "a", 1, {3, 100}, dtype);
    EXPECT_TRUE(narrow.to(at::kFloat).allclose(wide, 1.0 / 256, 0));
  }
  EXPECT_EQ(drawn(normal, "a", 1, {3, 100}, DType::kBFloat16).scalar_type(), at::kBFloat16);
  EXPECT_EQ(drawn(normal, "a", 1, {3, 100}, DType::kFloat64).scalar_type(), at::kDouble);
}

/// An element's index is that of the shape. Strides change where a value is, not which value it is.
TEST(Initialization, StridesChangeNoValue) {
  program::Program plain = model();
  program::Program turned = model();
  turned.parameters[0].tensor.strides = {1, 4};
  WeightOptions options;
  options.seed = 3;
  const std::string name = "model.wte.weight";
  const at::Tensor a = choose_weights(plain, empty_archive(), options).source(name);
  const at::Tensor b = choose_weights(turned, empty_archive(), options).source(name);
  EXPECT_TRUE(at::equal(a, b));
  EXPECT_EQ(b.strides(), (at::IntArrayRef{1, 4}));
}

TEST(Initialization, DrawsHaveTheirMoments) {
  const at::Tensor normal =
      drawn({Initializer::Kind::kNormal, 2, 0.5}, "n", 0, {1 << 20}).to(at::kDouble);
  EXPECT_NEAR(normal.mean().item<double>(), 2, 0.005);
  EXPECT_NEAR(normal.std().item<double>(), 0.5, 0.005);
  EXPECT_TRUE(normal.isfinite().all().item<bool>());
  const at::Tensor uniform =
      drawn({Initializer::Kind::kUniform, -1, 3}, "u", 0, {1 << 20}).to(at::kDouble);
  EXPECT_NEAR(uniform.mean().item<double>(), 1, 0.01);
  EXPECT_GE(uniform.min().item<double>(), -1.0);
  EXPECT_LE(uniform.max().item<double>(), 3.0);
}

TEST(Initialization, ATruncatedNormalIsARecipeToo) {
  ArchiveData archive = empty_archive();
  archive.recipe_json =
      R"({"schema":"elixir.initialization","schema_version":"1.0","parameters":[)"
      R"({"name":"model.wte.weight","kind":"truncated_normal","mean":0,"std":1,"low":-1,"high":0}]})";
  program::Program large = model();
  large.parameters[0] = parameter({"model.wte.weight"}, {64, 64});
  const at::Tensor drawn = choose_weights(large, archive, {}).source("model.wte.weight");
  EXPECT_LE(drawn.max().item<float>(), 0.0F);
  EXPECT_GE(drawn.min().item<float>(), -1.0F);
  EXPECT_GT(drawn.std().item<float>(), 0.2F);
}

TEST(Initialization, BadRecipesAreRefusedWithAPointer) {
  const auto parse = [](const std::string& entry) {
    return error_of([&] {
      (void)parse_recipe(
          R"({"schema":"elixir.initialization","schema_version":"1.0","parameters":[)" + entry +
              "]}",
          "m.pt:initialization.json");
    });
  };
  EXPECT_EQ(parse(R"({"name":"a","kind":"nomral","mean":0,"std":1})").where->pointer,
            "/parameters/0/kind");
  EXPECT_EQ(parse(R"({"name":"a","kind":"normal","mean":0})").code, ErrorCode::kJsonMissingKey);
  EXPECT_EQ(parse(R"({"name":"a","kind":"normal","mean":0,"std":-1})").code,
            ErrorCode::kJsonBadValue);
  EXPECT_EQ(parse(R"({"name":"a","kind":"truncated_normal","mean":0,"std":1,"low":1,"high":0})")
                .where->pointer,
            "/parameters/0/high");
  EXPECT_EQ(parse(R"({"name":"a","kind":"constant","value":0,"x":1})").code,
            ErrorCode::kJsonUnknownKey);
  EXPECT_EQ(error_of([] { (void)parse_recipe(R"({"schema":"elixir.plan"})", "x"); }).code,
            ErrorCode::kWrongSchema);
}

}  // namespace
}  // namespace elixir::train
