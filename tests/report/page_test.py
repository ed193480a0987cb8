# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""The HTML report as a browser sees it: no script error, the right picture in light and dark,
values under the pointer and the keyboard, nothing of a hostile name alive. Chromium is needed for
all but the first class."""
import collections
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import browser

VOID = {"meta", "br", "img", "input", "link", "hr"}
MOST_BYTES = 3 * 1024 * 1024


def write_reports(directory):
    subprocess.run([os.environ["WRITE_REPORTS"], str(directory)], check=True, timeout=120)


class Outline(html.parser.HTMLParser):
    """Elements in order; whether each is closed by its own end tag."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.wrong, self.text = [], [], [], collections.defaultdict(str)
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]] += data

    def named(self, tag, **wanted):
        return [a for t, a in self.elements if t == tag
                and all(a.get(k.rstrip("_")) == v for k, v in wanted.items())]


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="elixir-page-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        write_reports(cls.directory)

    def page(self, name):
        return (self.directory / f"{name}.html").read_text(encoding="utf-8")


class Text(PageTest):
    def test_pages_are_well_formed_and_ask_nothing_of_others(self):
        for name in ("small", "cuda", "huge", "hostile", "empty"):
            outline = Outline(self.page(name))
            self.assertEqual(outline.wrong, [], name)
            self.assertNotIn("img", {tag for tag, _ in outline.elements})
            for tag, attributes in outline.elements:
                self.assertEqual({"src", "href", "srcset", "action"} & set(attributes), set(), tag)
                self.assertEqual([key for key in attributes if key.startswith("on")], [], tag)

    def test_the_largest_program_stays_small(self):
        data = self.data("huge")
        self.assertGreater(data["operators"], 13_690)
        self.assertLess((self.directory / "huge.html").stat().st_size, MOST_BYTES)
        self.assertLessEqual(len(data["first"]), 2000)
        totals = [sum(column) for column in zip(*(c["bytes"] for c in data["categories"]))]
        peak = re.search(r"reached at operator ([\d,]+)", self.page("huge")).group(1)
        self.assertEqual(data["shown"][totals.index(max(totals))], int(peak.replace(",", "")))

    def test_same_programs_same_bytes(self):
        again = pathlib.Path(tempfile.mkdtemp(prefix="elixir-page-"))
        self.addCleanup(shutil.rmtree, again, ignore_errors=True)
        write_reports(again)
        for path in sorted(self.directory.iterdir()):
            self.assertEqual((again / path.name).read_bytes(), path.read_bytes(), path.name)

    def data(self, name):
        text = self.page(name)
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>',
                                    text, re.S).group(1))

    def test_colours_are_defined_for_both_schemes(self):
        light, dark = schemes(self.page("small"))
        self.assertEqual(light.keys(), dark.keys())
        self.assertEqual(len(set(light.values())), len(light))
        self.assertEqual(len(set(dark.values())), len(dark))


def schemes(page):
    """({category: (r, g, b)} in light, in dark), from the page's style."""
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    light, dark = style.split("prefers-color-scheme: dark", 1)
    names = ("parameter", "buffer", "constant", "optimizer_state", "gradient", "input",
             "activation", "temporary", "workspace")

    def colours(text):
        found = {}
        for name in names:
            digits = re.search(rf"--{name}: #([0-9a-f]{{6}});", text).group(1)
            found[name] = tuple(int(digits[i:i + 2], 16) for i in (0, 2, 4))
        return found

    return colours(light), colours(dark)


# Runs inside the page; what it returns is what the tests read.
DRIVER = """
<script>
addEventListener('load', () => {
  const result = {};
  const svg = document.getElementById('chart');
  const tip = document.getElementById('tip');
  const box = svg.getBoundingClientRect();
  const data = JSON.parse(document.getElementById('data').textContent);
  const scale = box.width / svg.viewBox.baseVal.width;
  const client = (share) => box.left + (data.left + share * data.width) * scale;
  const pointer = (type, share) => svg.dispatchEvent(new PointerEvent(type, {
    clientX: client(share), clientY: box.top + box.height / 2, button: 0,
    pointerType: 'mouse', bubbles: true}));
  const key = (name, shift) => svg.dispatchEvent(
    new KeyboardEvent('keydown', {key: name, shiftKey: !!shift, bubbles: true}));
  const tip_text = () => tip.hidden ? null : {
    name: tip.querySelector('strong').textContent,
    where: tip.querySelectorAll('span')[0].textContent,
    which: tip.querySelectorAll('span')[1].textContent,
    rows: [...tip.querySelectorAll('tr')].map(
      (row) => [...row.cells].map((cell) => cell.textContent)),
    inside: tip.getBoundingClientRect().right <= box.right + 1
      && tip.getBoundingClientRect().left >= box.left - 1};
  const visible_rows = () => [...document.querySelectorAll('#modules tbody tr')]
    .filter((row) => !row.hidden).length;
  const peak_text = () => document.querySelector('#peak text').textContent;
  const areas = () => [...document.querySelectorAll('#areas path')].map((path) =>
    path.getAttribute('visibility') === 'hidden' ? '' : path.getAttribute('d'));
  const ticks = () => [...document.querySelectorAll('#x-axis text')]
    .map((text) => text.textContent);
  const press = (id) => document.getElementById(id).click();

  pointer('pointermove', 0.25); result.quarter = tip_text();
  pointer('pointermove', 0.99); result.end = tip_text();
  pointer('pointerleave', 0.99); result.left = tip_text();
  key('p'); result.peak = tip_text();
  key('ArrowLeft'); result.before_peak = tip_text();
  key('ArrowRight'); key('ArrowRight'); result.after_peak = tip_text();
  key('Home'); result.home = tip_text();
  key('End'); result.last = tip_text();
  key('Escape'); result.escaped = tip_text();
  result.peak_text = peak_text();
  result.all_areas = areas();
  press('only-step'); result.step_areas = areas(); result.step_peak = peak_text();
  press('only-step'); result.again_areas = areas();
  document.querySelector('[data-category=activation]').click();
  result.without_activations = areas();
  document.querySelector('[data-category=activation]').click();
  pointer('pointerdown', 0.4); pointer('pointermove', 0.5); pointer('pointerup', 0.5);
  result.enlarged_ticks = ticks(); result.enlarged_areas = areas();
  press('whole'); result.whole_areas = areas();
  result.rows = visible_rows();
  press('close-all'); result.closed_rows = visible_rows();
  document.querySelector('#modules tbody button').click(); result.one_open_rows = visible_rows();
  press('open-all'); result.open_rows = visible_rows();
  const element = document.createElement('pre');
  element.id = 'result';
  element.textContent = JSON.stringify(result);
  document.body.append(element);
});
</script>
"""


@unittest.skipUnless(browser.find(), "no Chromium (apt-get install chromium)")
class InBrowser(PageTest):
    chromium = browser.Browser(browser.find())

    def driven(self, name):
        """The page's data and what DRIVER found out about it."""
        path = self.directory / f"{name}-driven.html"
        path.write_text(self.page(name).replace("</body>", DRIVER + "</body>"), encoding="utf-8")
        dom, complaints = self.chromium.dom(path)
        self.assertEqual(complaints, [])
        text = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S).group(1)
        return Text.data(self, name), json.loads(html.unescape(text))

    def test_no_page_has_a_script_error(self):
        for name in ("small", "huge", "hostile", "empty"):
            _, complaints = self.chromium.dom(self.directory / f"{name}.html")
            self.assertEqual(complaints, [], name)

    def test_an_error_would_be_seen(self):
        path = self.directory / "broken.html"
        path.write_text("<script>nothing.here()</script>", encoding="utf-8")
        _, complaints = self.chromium.dom(path)
        self.assertTrue(any("nothing is not defined" in line for line in complaints), complaints)

    def test_hostile_names_stay_text(self):
        path = self.directory / "hostile-watched.html"
        watch = "<script>window.alert = () => { document.title = 'alive'; };</script></head>"
        path.write_text(self.page("hostile").replace("</head>", watch, 1), encoding="utf-8")
        dom, _ = self.chromium.dom(path)
        self.assertNotIn("<title>alive", dom)
        # the watch, the data, the page's own
        self.assertEqual(len(Outline(dom).named("script")), 3)

    def test_script_and_program_draw_the_same_picture(self):
        static = [a["d"] for a in Outline(self.page("small")).named("path")]
        dom, _ = self.chromium.dom(self.directory / "small.html")
        drawn = [a["d"] for a in Outline(dom).named("path")]
        self.assertGreater(len(static), 4)
        self.assertEqual(drawn, static)

    def test_picture_has_the_categories_in_their_colours(self):
        for dark, colours in zip((False, True), schemes(self.page("cuda"))):
            rows = self.chromium.picture(self.directory / "cuda.html", 900, 1000, dark=dark)
            counts = collections.Counter(pixel for row in rows for pixel in row)
            for category in ("parameter", "optimizer_state", "gradient", "activation", "temporary",
                             "workspace"):
                self.assertGreater(counts[colours[category]], 300, (category, dark))
            # The page itself is light or dark, and its text is readable on it.
            background, _ = counts.most_common(1)[0]
            self.assertEqual(sum(background) < 300, dark, background)
            other = schemes(self.page("cuda"))[0 if dark else 1]
            self.assertLess(counts[other["activation"]], 30)

    def test_pointer_and_keys_show_the_bytes_of_the_program(self):
        data, result = self.driven("small")
        self.assertEqual(data["unit"]["name"], "MiB")
        totals = [sum(column) for column in zip(*(c["bytes"] for c in data["categories"]))]
        peak = totals.index(max(totals))

        def expected(bucket):
            rows = [
                [c["label"], f"{c['bytes'][bucket] / 2**20:,.1f}"]
                for c in reversed(data["categories"])
            ] + [["together", f"{totals[bucket] / 2**20:,.1f} MiB"]]
            return (data["names"][data["name"][bucket]],
                    "in " + data["modules"][data["module"][bucket]], rows)

        def told(tip):
            self.assertTrue(tip["inside"])
            return (tip["name"], tip["where"], tip["rows"])

        self.assertEqual(len(totals), data["operators"])  # a bucket each
        self.assertEqual(told(result["quarter"]), expected(int(0.25 * len(totals))))
        self.assertEqual(told(result["end"]), expected(int(0.99 * len(totals))))
        self.assertEqual(told(result["peak"]), expected(peak))
        self.assertEqual(told(result["before_peak"]), expected(peak - 1))
        self.assertEqual(told(result["after_peak"]), expected(peak + 1))
        self.assertEqual(told(result["home"]), expected(0))
        self.assertEqual(told(result["last"]), expected(len(totals) - 1))
        self.assertIn("forward", result["home"]["which"])
        self.assertIn("backward", result["last"]["which"])
        self.assertIsNone(result["left"])
        self.assertIsNone(result["escaped"])
        self.assertEqual(result["peak_text"], f"peak {max(totals) / 2**20:,.1f} MiB")

    def test_categories_switch_off_and_on(self):
        data, result = self.driven("small")
        keys = [c["key"] for c in data["categories"]]
        step = {"gradient", "activation", "temporary"}
        self.assertEqual([bool(d) for d in result["step_areas"]], [key in step for key in keys])
        totals = [sum(column)
                  for column in zip(*(c["bytes"] for c in data["categories"] if c["key"] in step))]
        self.assertEqual(result["step_peak"], f"peak {max(totals) / 2**20:,.1f} MiB")
        self.assertEqual(result["again_areas"], result["all_areas"])
        self.assertEqual([bool(d) for d in result["without_activations"]],
                         [key != "activation" for key in keys])

    def test_a_range_can_be_enlarged(self):
        data, result = self.driven("small")
        ticks = [int(text.replace(",", "")) for text in result["enlarged_ticks"]]
        self.assertGreaterEqual(min(ticks), 0.39 * data["operators"])
        self.assertLessEqual(max(ticks), 0.51 * data["operators"])
        self.assertGreater(len(ticks), 3)
        self.assertNotEqual(result["enlarged_areas"], result["all_areas"])
        self.assertEqual(result["whole_areas"], result["all_areas"])

    def test_modules_open_and_close(self):
        _, result = self.driven("small")
        self.assertEqual(result["closed_rows"], 1)
        self.assertEqual(result["one_open_rows"], 1 + 4)  # wte, h, ln_f, lm_head
        self.assertGreater(result["open_rows"], result["rows"])
        self.assertEqual(result["open_rows"], 1 + 4 + 12 * 5)


if __name__ == "__main__":
    unittest.main()
