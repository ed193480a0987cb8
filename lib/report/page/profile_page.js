// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
//
// What the page does beyond showing itself: values under the pointer or the keyboard's cursor, categories switched off
// with the rest drawn to scale, module rows that open and close. Names come from a model's file: they are set as text,
// never as markup.
'use strict';

(() => {
  const by_id = (id) => document.getElementById(id);
  const svg_element = (name, attributes, text) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  function chart() {
    const chart = JSON.parse(by_id('data').textContent);
    const svg = by_id('chart');
    const tip = by_id('tip');
    const cursor = by_id('cursor');
    const buckets = chart.first.length;
    const shown = new Set(chart.categories.map((category) => category.key));
    // There before the step begins, whatever the step does.
    const standing = new Set(['parameter', 'buffer', 'constant', 'optimizer_state', 'input']);
    let top_bytes = 1;
    let from = 0; // the operators in view
    let to = chart.operators;
    let at = -1;

    const figure = (bytes) =>
      (bytes / chart.unit.bytes).toLocaleString('en-US', {
        minimumFractionDigits: chart.unit.digits,
        maximumFractionDigits: chart.unit.digits,
      });
    const right_edge = chart.left + chart.width;
    const x_of = (op) => chart.left + (chart.width * (op - from)) / (to - from);
    const y_of = (bytes) => chart.top + chart.height * (1 - bytes / top_bytes);
    const end_of = (i) => (i + 1 < buckets ? chart.first[i + 1] : chart.operators);
    const centre_of = (i) => (x_of(chart.first[i]) + x_of(end_of(i))) / 2;
    const coordinate = (value) => String(Math.round(value * 10) / 10);
    const total_of = (i) =>
      chart.categories.reduce((sum, category) => sum + (shown.has(category.key) ? category.bytes[i] : 0), 0);
    const set = (element, attributes) => {
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    };

    /** The bucket of an operator. */
    function bucket_of(op) {
      let low = 0;
      let high = buckets - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (chart.first[middle] <= op) low = middle;
        else high = middle - 1;
      }
      return low;
    }
    const in_view = () => [bucket_of(from), bucket_of(to - 1)];

    /** Outline of a band over the buckets in view: upper edge to the right, lower edge back, in steps. */
    function area(lower, upper) {
      const [begin, end] = in_view();
      let last = coordinate(y_of(upper[begin]));
      let path = `M${chart.left} ${last}`;
      const step = (x, bytes) => {
        const next = coordinate(y_of(bytes));
        if (next === last) return;
        path += `H${coordinate(x)}V${next}`;
        last = next;
      };
      for (let i = begin + 1; i <= end; ++i) step(x_of(chart.first[i]), upper[i]);
      last = coordinate(y_of(lower[end]));
      path += `H${right_edge}V${last}`;
      for (let i = end - 1; i >= begin; --i) step(x_of(end_of(i)), lower[i]);
      return `${path}H${chart.left}Z`;
    }

    function tick_step(range, wanted) {
      const rough = range / wanted;
      const power = 10 ** Math.floor(Math.log10(rough));
      return power * ([1, 2, 5].find((factor) => factor * power >= rough) || 10);
    }

    function draw_axes() {
      const format = (value) => value.toLocaleString('en-US', { maximumSignificantDigits: 10 });
      const top = top_bytes / chart.unit.bytes;
      const high = tick_step(top, chart.ticks);
      const y_axis = by_id('y-axis');
      y_axis.replaceChildren();
      for (let i = 0; i * high <= top; ++i) {
        const y = coordinate(y_of(i * high * chart.unit.bytes));
        y_axis.append(svg_element('line', { x1: chart.left, x2: right_edge, y1: y, y2: y }));
        y_axis.append(svg_element('text', { x: chart.left - 8, y, dy: 4, 'text-anchor': 'end' }, format(i * high)));
      }
      const wide = Math.max(1, tick_step(to - from, chart.operator_ticks));
      const x_axis = by_id('x-axis');
      x_axis.replaceChildren();
      for (let op = Math.ceil(from / wide) * wide; op <= to; op += wide) {
        const place = { x: coordinate(x_of(op)), y: chart.top + chart.height + 18, 'text-anchor': 'middle' };
        x_axis.append(svg_element('text', place, format(op)));
      }
      const phase = (id, first, last) => {
        const begin = Math.max(first, from);
        const end = Math.min(last, to);
        const roomy = x_of(end) - x_of(begin) > 60;
        set(by_id(id), { x: (x_of(begin) + x_of(end)) / 2, visibility: roomy ? 'visible' : 'hidden' });
      };
      phase('forward', 0, chart.backward);
      phase('backward', chart.backward, chart.operators);
      const inside = chart.backward > from && chart.backward < to;
      const x = x_of(chart.backward);
      set(by_id('boundary'), { x1: x, x2: x, visibility: inside ? 'visible' : 'hidden' });
    }

    function highest(begin, end) {
      let best = begin;
      for (let i = begin + 1; i <= end; ++i) if (total_of(i) > total_of(best)) best = i;
      return best;
    }
    const peak = () => highest(0, buckets - 1);

    function draw() {
      const most = highest(...in_view());
      const bytes = total_of(most);
      top_bytes = Math.ceil(Math.max(1, bytes) * chart.headroom);
      const below = new Array(buckets).fill(0);
      const paths = by_id('areas').children;
      chart.categories.forEach((category, layer) => {
        const visible = shown.has(category.key);
        paths[layer].setAttribute('visibility', visible ? 'visible' : 'hidden');
        if (!visible) return;
        const lower = below.slice();
        for (let i = 0; i < buckets; ++i) below[i] += category.bytes[i];
        paths[layer].setAttribute('d', area(lower, below));
      });
      draw_axes();
      const x = Math.max(chart.left, Math.min(right_edge, centre_of(most)));
      const y = y_of(bytes);
      const right_half = x > chart.left + chart.width / 2;
      const [line, circle, label] = by_id('peak').children;
      set(line, { x1: x, x2: x, y1: y });
      set(circle, { cx: x, cy: y });
      set(label, { x: right_half ? x - 9 : x + 9, y: y - 6, 'text-anchor': right_half ? 'end' : 'start' });
      label.textContent = `${most === peak() ? 'peak' : 'most here'} ${figure(bytes)} ${chart.unit.name}`;
    }

    /** Brings operators into view, at least as many as can be told apart. */
    function view(begin, end) {
      const span = Math.min(chart.operators, Math.max(end - begin, (8 * chart.operators) / buckets));
      from = Math.max(0, Math.min(chart.operators - span, begin));
      to = from + span;
      by_id('whole').hidden = span === chart.operators;
      hide();
      draw();
    }
    function enlarge(factor) {
      const centre = at < 0 ? (from + to) / 2 : (chart.first[at] + end_of(at)) / 2;
      const kept = at;
      const span = (to - from) / factor;
      view(centre - span / 2, centre + span / 2);
      if (kept >= 0) show(kept);
    }

    function row(table, label, value, category) {
      const line = table.insertRow();
      const name = line.insertCell();
      if (category) {
        const swatch = document.createElement('i');
        swatch.className = `swatch c-${category}`;
        name.append(swatch);
      }
      name.append(label);
      line.insertCell().textContent = value;
    }

    function show(i) {
      const [begin, end] = in_view();
      at = Math.max(begin, Math.min(end, i));
      const x = Math.max(chart.left, Math.min(right_edge, centre_of(at)));
      set(cursor, { x1: x, x2: x, visibility: 'visible' });

      const op = chart.shown[at];
      const phase = op < chart.backward ? 'forward' : 'backward';
      const name = chart.names[chart.name[at]];
      const module = chart.modules[chart.module[at]];
      const last = end_of(at) - 1;
      const title = document.createElement('strong');
      title.textContent = name;
      const where = document.createElement('span');
      where.textContent = `in ${module}`;
      const which = document.createElement('span');
      which.textContent =
        `operator ${op.toLocaleString('en-US')}, ${phase}` +
        (last > chart.first[at] ? `; the most of ${chart.first[at]} to ${last}` : '');
      const table = document.createElement('table');
      for (const category of [...chart.categories].reverse()) {
        if (shown.has(category.key)) row(table, category.label, figure(category.bytes[at]), category.key);
      }
      row(table, 'together', `${figure(total_of(at))} ${chart.unit.name}`);
      tip.replaceChildren(title, where, which, table);
      tip.hidden = false;

      // Beside the cursor, inside the figure.
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const left = x * scale + 14;
      const fits = left + tip.offsetWidth <= svg.clientWidth;
      tip.style.left = `${fits ? left : Math.max(0, x * scale - 14 - tip.offsetWidth)}px`;
      tip.style.top = `${chart.top * scale}px`;
      by_id('said').textContent = `${name} in ${module}: ${figure(total_of(at))} ${chart.unit.name}`;
    }

    function hide() {
      at = -1;
      tip.hidden = true;
      cursor.setAttribute('visibility', 'hidden');
    }

    /** The operator under the pointer, as a fraction; outside the plot nothing. */
    function under(event) {
      const matrix = svg.getScreenCTM();
      const share = ((event.clientX - matrix.e) / matrix.a - chart.left) / chart.width;
      return share < 0 || share >= 1 ? null : from + share * (to - from);
    }

    const selection = by_id('selection');
    let dragged_from = null;
    svg.addEventListener('pointerdown', (event) => {
      if (event.button === 0 && event.pointerType !== 'touch') dragged_from = under(event);
    });
    svg.addEventListener('pointermove', (event) => {
      const op = under(event);
      if (op === null) return hide();
      show(bucket_of(op));
      if (dragged_from === null) return undefined;
      const [begin, end] = [Math.min(dragged_from, op), Math.max(dragged_from, op)];
      set(selection, { x: x_of(begin), width: x_of(end) - x_of(begin), visibility: 'visible' });
      return undefined;
    });
    svg.addEventListener('pointerup', (event) => {
      const op = under(event);
      const begin = dragged_from;
      dragged_from = null;
      selection.setAttribute('visibility', 'hidden');
      if (begin === null || op === null || Math.abs(x_of(op) - x_of(begin)) < 8) return;
      view(Math.min(begin, op), Math.max(begin, op));
    });
    svg.addEventListener('pointerleave', () => {
      dragged_from = null;
      selection.setAttribute('visibility', 'hidden');
      hide();
    });
    const whole = () => view(0, chart.operators);
    svg.addEventListener('dblclick', whole);
    by_id('whole').addEventListener('click', whole);
    svg.addEventListener('blur', hide);
    svg.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const [begin, end] = in_view();
      const stride = event.shiftKey ? Math.max(1, Math.round((end - begin) / 50)) : 1;
      const move = (by) => show(at < 0 ? highest(begin, end) : at + by);
      const to_peak = () => {
        if (peak() < begin || peak() > end) whole();
        show(peak());
      };
      const keys = {
        ArrowLeft: () => move(-stride),
        ArrowRight: () => move(stride),
        Home: () => show(begin),
        End: () => show(end),
        p: to_peak,
        P: to_peak,
        '+': () => enlarge(2),
        '=': () => enlarge(2),
        '-': () => enlarge(0.5),
        0: whole,
        Escape: hide,
      };
      if (!(event.key in keys)) return;
      keys[event.key]();
      event.preventDefault();
    });

    const only_step = by_id('only-step');
    const buttons = [...document.querySelectorAll('#legend [data-category]')];
    function refresh() {
      for (const button of buttons) button.setAttribute('aria-pressed', shown.has(button.dataset.category));
      const only = [...shown].every((key) => !standing.has(key));
      only_step.setAttribute('aria-pressed', only);
      draw();
      if (at >= 0) show(at);
    }
    for (const button of buttons) {
      button.addEventListener('click', () => {
        const key = button.dataset.category;
        if (!shown.delete(key)) shown.add(key);
        if (shown.size === 0) for (const category of chart.categories) shown.add(category.key);
        refresh();
      });
    }
    const makes_something = chart.categories.some((category) => !standing.has(category.key));
    only_step.hidden = !makes_something;
    only_step.addEventListener('click', () => {
      const only = only_step.getAttribute('aria-pressed') === 'true';
      shown.clear();
      for (const { key } of chart.categories) if (only || !standing.has(key)) shown.add(key);
      refresh();
    });
    for (const title of svg.querySelectorAll('title')) title.remove(); // the tip says more
    by_id('hint').hidden = false;
    refresh();
  }

  function module_tree() {
    const rows = [...document.querySelectorAll('#modules tbody tr')];
    const open = new Map(rows.map((row) => [row, 'open' in row.dataset]));
    function refresh() {
      let closed_at = Infinity;
      for (const row of rows) {
        const depth = Number(row.dataset.depth);
        row.hidden = depth > closed_at;
        if (row.hidden) continue;
        const button = row.querySelector('button');
        closed_at = button && !open.get(row) ? depth : Infinity;
        row.classList.toggle('closed', closed_at === depth);
        if (button) button.setAttribute('aria-expanded', open.get(row));
      }
    }
    by_id('modules').addEventListener('click', (event) => {
      const row = event.target.closest('tr');
      if (!event.target.closest('button') || !open.has(row)) return;
      open.set(row, !open.get(row));
      refresh();
    });
    const set_all = (value) => {
      for (const row of rows) open.set(row, value);
      refresh();
    };
    by_id('open-all').addEventListener('click', () => set_all(true));
    by_id('close-all').addEventListener('click', () => set_all(false));
    by_id('tree-tools').hidden = false;
    refresh();
  }

  if (by_id('chart')) chart();
  module_tree();
})();
