// Three comforts, none needed to read the page: tips at the pointer, one arm lit up in every picture, and a copied command.
(() => {
  const tip = document.getElementById('tip');
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
    let group = event.target.closest && event.target.closest('svg g');
    while (group && !textOf(group)) group = group.parentElement && group.parentElement.closest('g');
    if (!group) { tip.hidden = true; return; }
    tip.textContent = group.dataset.tip;
    tip.hidden = false;
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
  addEventListener('beforeprint', () => { for (const d of document.querySelectorAll('details')) d.open = true; });
})();
