// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/dataset.h"

#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <set>

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "train/data/label_use.h"
#include "train/data/token_entropy.h"
#include "train/support.h"
#include "train/weights/safetensors.h"

namespace elixir::train {
namespace {

using program::DType;
using test::error_of;
using test::TemporaryDirectory;

/// ids, labels int64[2, 4]. ids index an embedding of `vocabulary` rows; labels are the target of a
/// loss.
program::Program language_model(std::int64_t vocabulary) {
  program::Program program;
  program.inputs = {{"ids", test::tensor(0, {2, 4}, DType::kInt64)},
                    {"labels", test::tensor(1, {2, 4}, DType::kInt64)}};
  program::Parameter table;
  table.name = "wte.weight";
  table.names = {"wte.weight"};
  table.tensor = test::tensor(2, {vocabulary, 8}, DType::kFloat32);
  program.parameters = {table};
  program::Operator embedding;
  embedding.name = "aten::embedding";
  embedding.arguments = {table.tensor, program.inputs[0].tensor, std::int64_t{-1}, false, false};
  embedding.outputs = {test::tensor(3, {2, 4, 8}, DType::kFloat32)};
  program::Operator clone;
  clone.name = "aten::clone";
  clone.arguments = {program.inputs[1].tensor, program::None{}};
  clone.outputs = {test::tensor(4, {8}, DType::kInt64)};
  program::Operator loss;
  loss.name = "aten::nll_loss_forward";
  loss.arguments = {test::tensor(5, {8, vocabulary}, DType::kFloat32),
                    test::tensor(4, {8}, DType::kInt64),
                    program::None{},
                    std::int64_t{1},
                    std::int64_t{-100}};
  program::Operator head;
  head.name = "aten::linear";
  head.arguments = {embedding.outputs[0], table.tensor, program::None{}};
  head.outputs = {test::tensor(5, {2, 4, vocabulary}, DType::kFloat32)};
  program.operators = {embedding, clone, head, loss};
  return program;
}

/// The language model with a call between its embedding and its head.
program::Program with_call(const std::string& name, const program::Ints& sizes, std::int64_t at) {
  program::Program program = language_model(256);
  program.operators[0].outputs = {test::tensor(3, {2, 4, 16}, DType::kFloat32)};
  program::Operator call;
  call.name = name;
  call.arguments = {test::tensor(3, {2, 4, 16}, DType::kFloat32)};
  program::TensorRef made = test::tensor(name == "aten::slice" ? 3 : 6, sizes, DType::kFloat32);
  made.offset = at;
  call.outputs = {made};
  program.operators[2].arguments[0] = made;
  program.operators.insert(program.operators.begin() + 1, call);
  return program;
}

/// The clone of the labels, at this position among the operators, becomes that of labels[:, 1:].
void clone_from_second_label(program::Program& program, std::size_t clone) {
  auto& cut = std::get<program::TensorRef>(program.operators[clone].arguments[0]);
  cut.sizes = {2, 3};
  cut.offset = 1;
  program.operators[clone].outputs = {test::tensor(4, {6}, DType::kInt64)};
  program.operators.back().arguments[1] = test::tensor(4, {6}, DType::kInt64);
}

std::string counting(std::size_t n) {
  std::string bytes(n, '\0');
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i % 256);
  return bytes;
}

TEST(Data, SuffixesTellTheFormat) {
  EXPECT_EQ(data_format_of("a/b.txt"), DataFormat::kBytes);
  EXPECT_EQ(data_format_of("b.py"), DataFormat::kBytes);
  EXPECT_EQ(data_format_of("b.u16"), DataFormat::kU16);
  EXPECT_EQ(data_format_of("b.u32"), DataFormat::kU32);
  EXPECT_EQ(data_format_of("b.safetensors"), DataFormat::kSafetensors);
  EXPECT_FALSE(data_format_of("b.bin").has_value());
}

TEST(Data, DirectoriesAreReadInSortedOrderBySuffix) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.file("sub"));
  directory.write("b.py", "b");
  directory.write("sub/a.txt", "a");
  directory.write("a.py", "a");
  directory.write("junk.pyc", "x");
  const DataFiles found = find_data({directory.path()}, std::nullopt);
  EXPECT_EQ(found.format, DataFormat::kBytes);
  EXPECT_EQ(found.files,
            (std::vector<std::string>{
                directory.file("a.py"), directory.file("b.py"), directory.file("sub/a.txt")}));
}

TEST(Data, UnknownSuffixesMixedFormatsAndMissingFilesAreRefused) {
  const TemporaryDirectory directory;
  const std::string odd = directory.write("x.bin", "1234");
  const std::string text = directory.write("x.txt", "1234");
  const std::string tokens = directory.write("x.u16", "1234");
  EXPECT_EQ(error_of([&] { (void)find_data({odd}, std::nullopt); }).code, ErrorCode::kDataMismatch);
  EXPECT_EQ(find_data({odd}, DataFormat::kU32).format, DataFormat::kU32);
  EXPECT_EQ(error_of([&] {
              (void)find_data({text, tokens}, std::nullopt);
            }).code,
            ErrorCode::kDataMismatch);
  EXPECT_EQ(error_of([&] { (void)find_data({directory.file("none.txt")}, std::nullopt); }).code,
            ErrorCode::kFileNotFound);
  EXPECT_EQ(error_of([&] { (void)find_data({directory.path()}, DataFormat::kSafetensors); }).code,
            ErrorCode::kDataMismatch);
}

TEST(Data, RowsAreConsecutiveTokensAcrossFilesAndTheSameForAllTokenInputs) {
  const TemporaryDirectory directory;
  const std::string all = counting(200);
  const DataFiles files{DataFormat::kBytes,
                        {directory.write("1.txt", all.substr(0, 3)),
                         directory.write("2.txt", ""),
                         directory.write("3.txt", all.substr(3, 1)),
                         directory.write("4.txt", all.substr(4))}};
  const auto data = Dataset::open(files, language_model(256), 1);
  EXPECT_EQ(data->size(), 200);
  EXPECT_EQ(data->rows(), 2);
  EXPECT_EQ(data->tokens_per_row(), 4);
  std::set<std::int64_t> firsts;
  for (int step = 1; step <= 300; ++step) {
    const BatchInputs batch = data->training(7, step, 0);
    ASSERT_EQ(batch.size(), 2U);
    EXPECT_TRUE(at::equal(batch[0], batch[1]));
    for (int row = 0; row < 2; ++row) {
      const auto first = batch[0][row][0].item<std::int64_t>();
      firsts.insert(first);
      EXPECT_TRUE(at::equal(batch[0][row],
                            at::arange(first, first + 4, at::TensorOptions().dtype(at::kLong))));
    }
  }
  EXPECT_EQ(*firsts.begin(), 0);
  EXPECT_EQ(*firsts.rbegin(), 196);
}

TEST(Data, NextLabelsAreTheTokensAfterTheInputs) {
  const TemporaryDirectory directory;
  const DataFiles files{DataFormat::kBytes, {directory.write("1.txt", counting(20))}};
  const auto data = Dataset::open(files, language_model(256), 1, Labels::kNext);
  EXPECT_EQ(data->tokens_per_row(), 4);
  std::set<std::int64_t> firsts;
  for (int step = 1; step <= 300; ++step) {
    const BatchInputs batch = data->training(7, step, 0);
    EXPECT_TRUE(at::equal(at::add(batch[0], 1), batch[1])) << "the stream counts";
    firsts.insert(batch[0][0][0].item<std::int64_t>());
  }
  EXPECT_EQ(*firsts.rbegin(), 15) << "the last row's last label is the last token";
  EXPECT_EQ(data->evaluation_batches(9), 2) << "four rows of five tokens, two a batch";
  const DataFiles short_one{DataFormat::kBytes, {directory.write("2.txt", counting(9))}};
  EXPECT_EQ(
      error_of([&] { (void)Dataset::open(short_one, language_model(256), 1, Labels::kNext); }).code,
      ErrorCode::kDataTooShort);
  (void)Dataset::open(short_one, language_model(256), 1);
}

TEST(LabelUse, ATargetThatNoEmbeddingLooksUpIsALabel) {
  const LabelUse use = label_use(language_model(256));
  EXPECT_EQ(use.labels, std::vector<std::size_t>{1});
  EXPECT_TRUE(use.has_class_loss);
  EXPECT_TRUE(use.unshifted);
  EXPECT_FALSE(use.model_shifts);
}

TEST(LabelUse, ATargetReadFromItsSecondTokenOnIsShiftedByTheModel) {
  program::Program program = language_model(256);
  clone_from_second_label(program, 1);
  EXPECT_TRUE(label_use(program).model_shifts);
  EXPECT_FALSE(label_use(program).unshifted);
}

TEST(LabelUse, InputsThatTheModelCutsAreNotRepeated) {
  program::Program program = language_model(256);
  // The embedding looks up input_ids[:, :-1], as in a model that puts a first token before them.
  std::get<program::TensorRef>(program.operators[0].arguments[1]).sizes = {2, 3};
  EXPECT_FALSE(label_use(program).unshifted);
}

TEST(LabelUse, NothingIsSaidOfAModelThatMovesPositionsAfterItsEmbedding) {
  EXPECT_TRUE(label_use(with_call("aten::gelu", {2, 4, 16}, 0)).unshifted);
  EXPECT_TRUE(label_use(with_call("aten::slice", {2, 4, 12}, 4)).unshifted)
      << "width, no positions";
  EXPECT_FALSE(label_use(with_call("aten::slice", {2, 3, 16}, 0)).unshifted) << "x[:, :-1]";
  EXPECT_FALSE(label_use(with_call("aten::constant_pad_nd", {2, 5, 16}, 0)).unshifted);
  EXPECT_FALSE(label_use(with_call("aten::cat", {2, 5, 16}, 0)).unshifted);
  EXPECT_FALSE(label_use(with_call("aten::roll", {2, 4, 16}, 0)).unshifted);
  EXPECT_FALSE(label_use(with_call("aten::nobody_knows", {2, 4, 16}, 0)).unshifted);
}

TEST(LabelUse, OutputsAndLabelsWithoutTheirFirstPositionAreNotShifted) {
  program::Program program = with_call("aten::slice", {2, 3, 16}, 16);
  clone_from_second_label(program, 2);
  EXPECT_FALSE(label_use(program).model_shifts);
  EXPECT_FALSE(label_use(program).unshifted);
}

TEST(LabelUse, LabelsAreKnownByNameWhereNoLossShowsThem) {
  program::Program program = language_model(256);
  program.operators.pop_back();
  EXPECT_EQ(label_use(program).labels, std::vector<std::size_t>{1});
  EXPECT_FALSE(label_use(program).has_class_loss);
  EXPECT_FALSE(label_use(program).unshifted) << "nobody knows";
  program.inputs[1].name = "other";
  EXPECT_TRUE(label_use(program).labels.empty());
}

TEST(TokenEntropy, IsWhatThePairsLeaveOpen) {
  EXPECT_EQ(next_token_entropy({}), 0);
  EXPECT_NEAR(next_token_entropy({{1, 2, 1, 2, 1, 2, 1}}), 0, 1e-12);
  // After 1 comes 2 or 3, with equal probability. After 2 and 3 comes 1.
  EXPECT_NEAR(next_token_entropy({{1, 2, 1, 3, 1, 2, 1, 3, 1}}), 0.5 * std::log(2.0), 1e-12);
  EXPECT_NEAR(next_token_entropy({{1, 2}, {1, 3}}), std::log(2.0), 1e-12) << "pieces are apart";
}

TEST(LossWatch, DoubtsOnceAndOnlyBeforeTheDataWasDrawnOnce) {
  int counted = 0;
  const auto entropy = [&] {
    ++counted;
    return 2.0;
  };
  LossWatch watch(entropy, 1000, 100);
  EXPECT_FALSE(watch.training(1, 5.0));
  EXPECT_EQ(counted, 0) << "no loss of that size is implausible";
  EXPECT_FALSE(watch.training(2, 0.21));
  EXPECT_TRUE(LossWatch(entropy, 1000, 100).training(10, 0.19));
  EXPECT_FALSE(watch.training(11, 0.19)) << "it may know them by heart";
  EXPECT_TRUE(watch.held_out(0.19));
  EXPECT_FALSE(watch.held_out(0.0)) << "said already";
  LossWatch simple([] { return 0.4; }, 1000, 100);
  EXPECT_FALSE(simple.training(1, 0.0)) << "simple data";
}

TEST(Data, ARowDependsOnSeedStepAndRowAlone) {
  const TemporaryDirectory directory;
  const DataFiles files{DataFormat::kBytes, {directory.write("1.txt", counting(250))}};
  const auto one = Dataset::open(files, language_model(256), 1);
  const auto two = Dataset::open(files, language_model(256), 4);
  EXPECT_TRUE(at::equal(one->training(1, 9, 3)[0], two->training(1, 9, 3)[0]));
  EXPECT_FALSE(at::equal(one->training(1, 9, 3)[0], one->training(2, 9, 3)[0]));
  EXPECT_FALSE(at::equal(one->training(1, 9, 3)[0], one->training(1, 10, 3)[0]));
  // Row 1 of micro-batch 0 and row 0 of micro-batch 1 are rows 1 and 2 of the step.
  EXPECT_EQ(drawn_start(1, 9, 2, 247), one->training(1, 9, 1)[0][0][0].item<std::int64_t>());
}

TEST(Data, DrawsCoverTheirRangeEvenly) {
  std::vector<int> hits(10);
  for (int row = 0; row < 100000; ++row)
    ++hits[static_cast<std::size_t>(drawn_start(3, 1, row, 10))];
  for (const int count : hits) EXPECT_NEAR(count, 10000, 500);
}

TEST(Data, WideTokensAreLittleEndian) {
  const TemporaryDirectory directory;
  const std::string u16 =
      directory.write("a.u16", std::string("\x01\x02\x03\x04", 4) + std::string(12, '\0'));
  const auto data = Dataset::open({DataFormat::kU16, {u16}}, language_model(70000), 1);
  EXPECT_EQ(data->evaluation(0, 1)[0][0][0].item<std::int64_t>(), 0x0201);
  EXPECT_EQ(data->evaluation(0, 1)[0][0][1].item<std::int64_t>(), 0x0403);
  const std::string odd = directory.write("b.u32", std::string(35, '\0'));
  const ErrorInfo info = error_of([&] {
    (void)Dataset::open({DataFormat::kU32, {odd}}, language_model(9), 1);
  });
  EXPECT_EQ(info.code, ErrorCode::kDataMismatch);
  EXPECT_EQ(info.where->byte_offset, 32);
}

TEST(Data, LessThanOneBatchIsTooShort) {
  const TemporaryDirectory directory;
  const DataFiles files{DataFormat::kBytes, {directory.write("1.txt", counting(15))}};
  EXPECT_EQ(
      Dataset::open(
          {DataFormat::kBytes, {directory.write("2.txt", counting(8))}}, language_model(256), 1)
          ->size(),
      8);
  const ErrorInfo info = error_of([&] { (void)Dataset::open(files, language_model(256), 2); });
  EXPECT_EQ(info.code, ErrorCode::kDataTooShort);
  EXPECT_NE(info.message.find("15 tokens"), std::string::npos);
  EXPECT_NE(info.message.find("16"), std::string::npos);
}

TEST(Data, TokensOutsideTheVocabularyAreNamedWithTheirPlace) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("1.txt", std::string(20, 'a') + "\xc8" + "bbb");
  const ErrorInfo info = error_of([&] {
    (void)Dataset::open({DataFormat::kBytes, {path}}, language_model(200), 1);
  });
  EXPECT_EQ(info.code, ErrorCode::kTokenOutOfVocabulary);
  EXPECT_EQ(info.where->byte_offset, 20);
  EXPECT_EQ(info.where->file, path);
  EXPECT_NE(info.message.find("token 200"), std::string::npos);
  EXPECT_NE(info.notes.at(0).find("wte.weight"), std::string::npos);
  EXPECT_EQ(Dataset::open({DataFormat::kBytes, {path}}, language_model(201), 1)->size(), 24);
}

TEST(Data, SamplesMayHaveAnyValueWhereTheModelDoesNotLookThemUp) {
  const TemporaryDirectory directory;
  program::Program program = language_model(256);
  // The embedding looks up ids[:, :3].
  std::get<program::TensorRef>(program.operators[0].arguments[1]).sizes = {2, 3};
  const auto open_with = [&](std::int64_t column, std::int64_t value) {
    at::Tensor ids = at::zeros({4, 4}, at::TensorOptions().dtype(at::kLong));
    ids.select(1, column).fill_(value);
    const std::string path = directory.file("ids.safetensors");
    write_safetensors(path,
                      {{"ids", DType::kInt64, {4, 4}, [&] { return ids; }},
                       {"labels", DType::kInt64, {4, 4}, [&] { return at::zeros_like(ids); }}},
                      {},
                      Overwrite::kAllow);
    return Dataset::open({DataFormat::kSafetensors, {path}}, program, 1)->size();
  };
  EXPECT_EQ(open_with(3, -100), 4);
  EXPECT_EQ(error_of([&] { (void)open_with(2, -100); }).code, ErrorCode::kTokenOutOfVocabulary);
}

TEST(Data, EvaluationRowsDoNotOverlapAndIgnoreTheSeed) {
  const TemporaryDirectory directory;
  const auto data = Dataset::open(
      {DataFormat::kBytes, {directory.write("1.txt", counting(70))}}, language_model(256), 1);
  const std::int64_t batches = data->evaluation_batches(100);
  EXPECT_EQ(batches, 8);  // 17 rows of 4, two a batch
  EXPECT_EQ(data->evaluation_batches(3), 3);
  std::int64_t end = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (int row = 0; row < 2; ++row) {
      const auto first = data->evaluation(batch, batches)[0][row][0].item<std::int64_t>();
      EXPECT_GE(first, end);
      end = first + 4;
    }
  }
  EXPECT_LE(end, 70);
}

TEST(Data, MasksAreOnesAndFloatingInputsNeedSamples) {
  const TemporaryDirectory directory;
  const DataFiles files{DataFormat::kBytes, {directory.write("1.txt", counting(64))}};
  auto program = language_model(256);
  program.inputs.push_back({"attention_mask", test::tensor(9, {2, 4}, DType::kInt64)});
  program.inputs.push_back({"token_type_ids", test::tensor(10, {2, 4}, DType::kInt64)});
  const BatchInputs batch = Dataset::open(files, program, 1)->training(0, 1, 0);
  EXPECT_TRUE(at::equal(batch[2], at::ones({2, 4}, at::TensorOptions().dtype(at::kLong))));
  EXPECT_EQ(batch[3].sum().item<std::int64_t>(), 0);
  program.inputs.push_back({"pixels", test::tensor(11, {2, 3}, DType::kFloat32)});
  EXPECT_EQ(error_of([&] { (void)Dataset::open(files, program, 1); }).code,
            ErrorCode::kDataMismatch);
}

class Samples : public ::testing::Test {
 protected:
  Samples() {
    program_.inputs = {{"pixels", test::tensor(0, {2, 3}, DType::kFloat32)},
                       {"labels", test::tensor(1, {2}, DType::kInt64)}};
    program::Operator loss;
    loss.name = "aten::nll_loss_forward";
    loss.arguments = {test::tensor(5, {2, 10}, DType::kFloat32),
                      program_.inputs[1].tensor,
                      program::None{},
                      std::int64_t{1},
                      std::int64_t{-100}};
    program_.operators = {loss};
  }
  std::string file(const std::string& name,
                   const at::Tensor& pixels,
                   const at::Tensor& labels,
                   const std::string& labels_key = "labels") {
    const auto dtype = pixels.scalar_type() == at::kFloat ? DType::kFloat32 : DType::kInt64;
    write_safetensors(directory_.file(name),
                      {{"pixels", dtype, pixels.sizes().vec(), [&] { return pixels; }},
                       {labels_key, DType::kInt64, labels.sizes().vec(), [&] { return labels; }}},
                      {},
                      Overwrite::kAllow);
    return directory_.file(name);
  }
  static at::Tensor pixels(std::int64_t samples, std::int64_t first) {
    return at::arange(first * 3, (first + samples) * 3, at::TensorOptions().dtype(at::kFloat))
        .view({samples, 3});
  }
  static at::Tensor labels(std::int64_t samples, std::int64_t first) {
    return at::arange(first, first + samples, at::TensorOptions().dtype(at::kLong));
  }
  ErrorInfo refused(const std::string& path) {
    return error_of([&] { (void)Dataset::open({DataFormat::kSafetensors, {path}}, program_, 1); });
  }
  program::Program program_;
  TemporaryDirectory directory_;
};

TEST_F(Samples, RowsAreSamplesOfAllFiles) {
  const DataFiles files{DataFormat::kSafetensors,
                        {file("1.safetensors", pixels(3, 0), labels(3, 0)),
                         file("2.safetensors", pixels(4, 3), labels(4, 3))}};
  const auto data = Dataset::open(files, program_, 1);
  EXPECT_EQ(data->size(), 7);
  EXPECT_FALSE(data->tokens_per_row().has_value());
  std::set<std::int64_t> seen;
  for (int step = 1; step < 60; ++step) {
    const BatchInputs batch = data->training(5, step, 0);
    for (int row = 0; row < 2; ++row) {
      const auto label = batch[1][row].item<std::int64_t>();
      seen.insert(label);
      EXPECT_EQ(batch[0][row][0].item<float>(), static_cast<float>(3 * label));
    }
  }
  EXPECT_EQ(seen.size(), 7U);
}

TEST_F(Samples, KeysThatNoInputHasAreSaid) {
  const std::string path = directory_.file("extra");
  write_safetensors(path,
                    {{"pixels", DType::kFloat32, {4, 3}, [] { return pixels(4, 0); }},
                     {"labels", DType::kInt64, {4}, [] { return labels(4, 0); }},
                     {"weight", DType::kInt64, {4}, [] { return labels(4, 0); }}},
                    {},
                    Overwrite::kAllow);
  const auto data = Dataset::open({DataFormat::kSafetensors, {path}}, program_, 1);
  ASSERT_EQ(data->unused().size(), 1U);
  EXPECT_NE(data->unused()[0].find("`weight`"), std::string::npos);
  EXPECT_TRUE(Dataset::open(
                  {DataFormat::kSafetensors, {file("k", pixels(4, 0), labels(4, 0))}}, program_, 1)
                  ->unused()
                  .empty());
}

/// A model that makes labels from its inputs would train on prompts and padding.
TEST(Data, LabelsThatTheModelHasNoInputForAreRefused) {
  const TemporaryDirectory directory;
  program::Program program = language_model(256);
  // The loss takes ids as its target.
  program.operators[1].arguments[0] = program.inputs[0].tensor;
  program.inputs.pop_back();
  const auto open_with = [&](const std::string& key) {
    const std::string path = directory.file("d.safetensors");
    const at::Tensor ids = at::zeros({4, 4}, at::TensorOptions().dtype(at::kLong));
    write_safetensors(path,
                      {{"ids", DType::kInt64, {4, 4}, [&] { return ids; }},
                       {key, DType::kInt64, {4, 4}, [&] { return ids; }}},
                      {},
                      Overwrite::kAllow);
    return Dataset::open({DataFormat::kSafetensors, {path}}, program, 1)->unused().size();
  };
  const ErrorInfo info = error_of([&] { (void)open_with("labels"); });
  EXPECT_EQ(info.code, ErrorCode::kDataMismatch);
  EXPECT_NE(info.message.find("`labels`"), std::string::npos);
  EXPECT_EQ(open_with("position_ids"), 1U);
}

TEST_F(Samples, WrongKeysShapesDtypesCountsAndValuesAreRefused) {
  EXPECT_EQ(refused(file("k", pixels(4, 0), labels(4, 0), "label")).code, ErrorCode::kDataMismatch);
  EXPECT_EQ(refused(file("s", pixels(4, 0).view({2, 6}), labels(2, 0))).code,
            ErrorCode::kDataMismatch);
  EXPECT_EQ(refused(file("d", pixels(4, 0).to(at::kLong), labels(4, 0))).code,
            ErrorCode::kDataMismatch);
  EXPECT_EQ(refused(file("c", pixels(4, 0), labels(3, 0))).code, ErrorCode::kDataMismatch);
  EXPECT_EQ(refused(file("v", pixels(4, 0), labels(4, 8))).code, ErrorCode::kTokenOutOfVocabulary);
  EXPECT_EQ(refused(file("n", pixels(1, 0), labels(1, 0))).code, ErrorCode::kDataTooShort);
  at::Tensor ignored = labels(4, 0);
  ignored[2] = -100;
  EXPECT_EQ(
      Dataset::open({DataFormat::kSafetensors, {file("i", pixels(4, 0), ignored)}}, program_, 1)
          ->size(),
      4);
}

TEST(Data, AFileThatIsCutUnderTheRunIsAnErrorOfReading) {
  const TemporaryDirectory directory;
  const program::Program program = language_model(256);
  const std::string tokens = directory.write("a.txt", counting(1 << 16));
  const auto data = Dataset::open({DataFormat::kBytes, {tokens}}, program, 1);
  (void)data->training(1, 1, 0);
  std::filesystem::resize_file(tokens, 100);
  const ErrorInfo info = error_of([&] {
    for (int step = 1; step < 50; ++step) (void)data->training(1, step, 0);
  });
  EXPECT_EQ(info.code, ErrorCode::kIoError);
  EXPECT_EQ(exit_code_of(info.code), 4);
  ASSERT_TRUE(info.where.has_value());
  EXPECT_EQ(info.where->file, tokens);
  EXPECT_EQ(info.where->byte_offset, 100);
}

TEST(Data, ManySmallFilesNeedFewDescriptors) {
  const TemporaryDirectory directory;
  DataFiles files;
  for (int i = 0; i < 700; ++i) {
    files.files.push_back(directory.write(fmt::format("{:03}.txt", i), std::string(8, 'a')));
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 400;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  const auto data = Dataset::open(files, language_model(256), 1);
  for (int step = 1; step < 200; ++step) {
    EXPECT_EQ(data->training(1, step, 0)[0].max().item<std::int64_t>(), 'a');
  }
  // A file that was replaced is not read in place of the old one.
  const auto replace = [&](int i) {
    directory.write("new", std::string(8, 'b'));
    std::filesystem::rename(directory.file("new"), files.files[i]);
  };
  for (int i = 300; i < 700; ++i) replace(i);
  EXPECT_EQ(error_of([&] {
              for (int step = 1; step < 50; ++step) (void)data->training(1, step, 0);
            }).code,
            ErrorCode::kIoError);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(Samples, AFileThatIsCutUnderTheRunIsAnErrorOfReading) {
  const std::string path = file("1.safetensors", pixels(9, 0), labels(9, 0));
  const auto data = Dataset::open({DataFormat::kSafetensors, {path}}, program_, 1);
  (void)data->training(1, 1, 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
  const ErrorInfo info = error_of([&] {
    for (int step = 1; step < 50; ++step) (void)data->training(1, step, 0);
  });
  EXPECT_EQ(info.code, ErrorCode::kIoError);
}

}  // namespace
}  // namespace elixir::train
