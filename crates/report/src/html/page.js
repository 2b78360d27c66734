// Comforts, none needed to read the page: what is at the pointer, one arm lit up in every picture, a table of all trials,
// and a copied command. The trials are read from the page's own data; the pictures say where they are drawn.
(() => {
  const tip = document.getElementById('tip');
  const data = JSON.parse(document.getElementById('data').textContent);
  for (const w of data.workloads) {
    if (!Array.isArray(w.trial)) { const first = w.trial; w.trial = w.arm.map((_, i) => first + i); }
    w.note = [];
    for (const [text, rows] of w.notes) for (const i of rows) w.note[i] = text;
  }
  const shown = (metric, i) => {
    const value = metric.values[i];
    return value === null ? 'no value' : (value + ' ' + metric.unit).trim().replace('-', '−');
  };
  const place = (w, i) => 'trial ' + w.trial[i] + (w.block[i] < 0 ? '' : ', block ' + w.block[i] + ', position ' + w.position[i]);

  // Where a picture draws its trials: kind, workload, metric, left edge or 0, room of one, then the scale of the values.
  const plots = new WeakMap();
  const plotOf = (svg) => {
    if (!plots.has(svg)) {
      const [kind, w, m, left, room, lo, hi, from, to, log] = svg.dataset.plot.split(' ').map((x, i) => (i ? +x : x));
      const at = (v) => {
        const x = Math.min(hi, Math.max(lo, v));
        return from + (log ? Math.log(x / lo) / Math.log(hi / lo) : (x - lo) / (hi - lo)) * (to - from);
      };
      plots.set(svg, { kind, left, room, at, workload: data.workloads[w], metric: data.workloads[w].metrics[m] });
    }
    return plots.get(svg);
  };
  // The trials drawn at a point of a picture, nearest first.
  const trialsAt = (svg, x, y) => {
    const { kind, left, room, at, workload: w, metric } = plotOf(svg);
    const found = [];
    const look = (i, near) => { if (near < 7) found.push([near, i]); };
    if (kind === 'order') {
      const first = Math.max(0, Math.floor((x - left - 7) / room)), last = Math.min(w.arm.length - 1, Math.ceil((x - left + 7) / room));
      for (let i = first; i <= last; i++) {
        const value = metric.values[i];
        const dy = value === null ? 0 : at(value) - y;
        look(i, Math.hypot(left + (i + 0.5) * room - x, dy));
      }
    } else {
      const arm = Math.floor(y / room);
      for (let i = 0; i < w.arm.length; i++) {
        if (w.arm[i] === arm && metric.values[i] !== null) look(i, Math.abs(at(metric.values[i]) - x));
      }
    }
    return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((f) => f[1]);
  };
  const SAID = 3;
  const said = (svg, event) => {
    const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    const scale = view.width / box.width;
    const found = trialsAt(svg, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    const { workload: w, metric } = plotOf(svg);
    const lines = found.slice(0, SAID).map((i) => [data.arms[w.arm[i]] + ': ' + shown(metric, i), place(w, i), w.note[i]].filter(Boolean).join('\n'));
    if (found.length > SAID) lines.push('and ' + (found.length - SAID) + ' more here');
    return lines.join('\n');
  };

  // A picture's own title would pop up everywhere in it: the label is kept for screen readers only.
  for (const svg of document.querySelectorAll('svg.chart[role=img]')) {
    const title = svg.querySelector(':scope>title');
    if (title) { svg.setAttribute('aria-label', title.textContent); title.remove(); }
  }
  const textOf = (group) => {
    const title = group.querySelector(':scope>title');
    if (title) { group.dataset.tip = title.textContent; title.remove(); }
    return group.dataset.tip;
  };
  document.addEventListener('pointermove', (event) => {
    const svg = event.target.closest && event.target.closest('svg');
    let text = svg && svg.dataset.plot ? said(svg, event) : '';
    for (let group = event.target.closest && event.target.closest('svg g'); group && !text; group = group.parentElement.closest('g')) text = textOf(group);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18 + box.height < innerHeight;
    tip.style.left = Math.max(8, x) + 'px';
    tip.style.top = (below ? event.clientY + 18 : event.clientY - box.height - 12) + 'px';
  });
  document.addEventListener('pointerleave', () => { tip.hidden = true; });
  addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });

  const light = (arm) => {
    const root = document.documentElement;
    const lit = root.dataset.lit === arm ? undefined : arm;
    if (lit === undefined) delete root.dataset.lit; else root.dataset.lit = lit;
    for (const g of document.querySelectorAll('g[data-arm]')) g.classList.toggle('lit', g.dataset.arm === lit);
    for (const b of document.querySelectorAll('[data-pick]')) b.setAttribute('aria-pressed', String(b.dataset.pick === lit));
  };
  document.addEventListener('click', (event) => {
    const pick = event.target.closest('[data-pick]');
    const mark = event.target.closest('g[data-arm]');
    const copy = event.target.closest('[data-copy]');
    if (pick) light(pick.dataset.pick);
    else if (mark) light(mark.dataset.arm);
    if (copy) {
      const from = document.getElementById(copy.dataset.copy);
      const done = () => { copy.textContent = 'Copied'; setTimeout(() => { copy.textContent = 'Copy'; }, 1500); };
      const select = () => getSelection().selectAllChildren(from);
      if (navigator.clipboard) navigator.clipboard.writeText(from.textContent).then(done, select); else select();
    }
  });

  // Every trial as a table, made when it is first opened.
  const cell = (row, text, head) => { const c = document.createElement(head ? 'th' : 'td'); c.textContent = text; if (head) c.scope = 'col'; row.append(c); };
  const tabulate = (details) => {
    const w = data.workloads[details.dataset.trials];
    const table = document.createElement('table');
    table.className = 'n1 n3 n4' + w.metrics.map((_, i) => ' n' + (5 + i)).join('');
    const head = table.createTHead().insertRow();
    for (const name of ['trial', 'arm', 'block', 'position', ...w.metrics.map((m) => m.name + (m.unit && ', ' + m.unit)), 'note']) cell(head, name, true);
    const body = table.createTBody();
    w.arm.forEach((arm, i) => {
      const row = body.insertRow();
      const values = w.metrics.map((m) => (m.values[i] === null ? '–' : m.values[i]));
      for (const text of [w.trial[i], data.arms[arm], w.block[i] < 0 ? '–' : w.block[i], w.position[i], ...values, w.note[i] || '']) cell(row, text);
    });
    const box = document.createElement('div');
    Object.assign(box, { className: 'scroll tall', tabIndex: 0 });
    box.setAttribute('role', 'region');
    box.setAttribute('aria-label', 'Every trial');
    box.append(table);
    details.append(box);
  };
  for (const details of document.querySelectorAll('[data-trials]')) {
    details.hidden = false;
    details.addEventListener('toggle', () => { if (details.open && !details.querySelector('table')) tabulate(details); });
  }
  addEventListener('beforeprint', () => { for (const d of document.querySelectorAll('details:not([data-trials])')) d.open = true; });
})();
