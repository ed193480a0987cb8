// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/page/html.h"

#include <gtest/gtest.h>

#include <string>

namespace elixir::report {
namespace {

TEST(Html, EscapesWhatMeansSomething) {
  EXPECT_EQ(escape_html("a & <b> \"c\" 'd'"), "a &amp; &lt;b&gt; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape_html("&amp;"), "&amp;amp;");
  EXPECT_EQ(escape_html("µ\n\t"), "µ\n\t");
  EXPECT_EQ(escape_html(std::string("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(escape_html("\xff<"), "\xef\xbf\xbd&lt;");
}

TEST(Html, NoJsonEndsItsElement) {
  const Json value = {{"</script><!--", "a & b > c \xff \"\\"}};
  const std::string text = script_json(value);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(Json::parse(text), Json({{"</script><!--", "a & b > c \xef\xbf\xbd \"\\"}}));
}

TEST(Html, LongNamesAreCutBetweenCharacters) {
  EXPECT_EQ(shortened("short"), "short");
  const std::string just(200, 'x');
  EXPECT_EQ(shortened(just), just);
  EXPECT_EQ(shortened(just + "y"), just + "…");
  EXPECT_EQ(shortened(std::string(199, 'x') + "µµ"), std::string(199, 'x') + "…");
}

}  // namespace
}  // namespace elixir::report
