# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""scripts/reading_test.py counts sentences of prose alone, and scripts/page_picture.py makes an SVG
that stands alone."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import page_picture
import reading_test

PAGE = """# A heading is no sentence

One two three. Four `a.b` five: six
goes on.

| a table | is not prose |
| --- | --- |

- An item. Its second sentence.
- Another one, e.g. this.

```
Code is not prose. Really.
```
"""


class Reading(unittest.TestCase):
    def test_sentences_are_of_prose_alone(self):
        found = [sentence for paragraph in reading_test.paragraphs(PAGE)
                 for sentence in reading_test.sentences(paragraph)]
        self.assertEqual(found, [
            "One two three.", "Four `a.b` five: six goes on.", "An item.", "Its second sentence.",
            "Another one, e.g. this."
        ])

    def test_links_count_as_what_is_shown(self):
        self.assertEqual(reading_test.paragraphs("See [how it\nworks](a/b c.md)."),
                         ["See [how it works]."])

    def test_a_seed_draws_the_same_passages(self):
        def drawn(seed):
            return subprocess.run([sys.executable, ROOT / "scripts/reading_test.py",
                                   ROOT / "README.md", "--passages", "4", "--seed", seed],
                                  check=True, capture_output=True, text=True).stdout

        self.assertEqual(drawn("7"), drawn("7"))
        self.assertNotEqual(drawn("7"), drawn("8"))


class Picture(unittest.TestCase):
    def test_the_chart_of_a_page_stands_alone_with_a_legend(self):
        page = ('<style>:root { --activation: #f00; }\nbody { margin: 0; }\n'
                'path.c-activation { fill: var(--activation); }</style>'
                '<svg id="chart" viewBox="0 0 1200 440" role="img" aria-label="Memory">'
                '<path class="c-activation" d="M0 0"><title>activation</title></path>'
                '<line id="cursor" x1="0"/></svg>')
        root = xml.etree.ElementTree.fromstring(page_picture.picture(page))
        text = "".join(root.itertext())
        self.assertTrue(root.tag.endswith("svg"))
        self.assertIn("--activation: #f00", text)
        self.assertNotIn("margin", text)
        labels = [each.text for each in root.iter() if each.tag.endswith("text")]
        self.assertEqual(labels, ["activation"])
        self.assertNotIn("cursor", [each.get("id") for each in root.iter()])

    def test_a_wrong_call_says_how_to_call_it(self):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([sys.executable, ROOT / "scripts/page_picture.py"],
                                  cwd=directory, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("page_picture.py b.html", done.stderr)


if __name__ == "__main__":
    unittest.main()
