// The page: a list of translations, and the parts of the one that is shown.

function show(one) {
  Object.assign(view, {
    one, layer: one.defaultLayer, head: one.heads === 1 ? 0 : MEAN, reading: 'predicted', step: 0, pinned: null,
    hovered: null, parts: [],
  });
  const cards = [wordsCard(one)];
  if (one.layers) cards.push(attentionCard(one));
  if (one.candidates.length) cards.push(stepsCard(one));
  if (one.whatIfs.length) cards.push(whatIfCard(one));
  if (one.tree.length) cards.push(treeCard(one));
  document.getElementById('open').replaceChildren(...cards);
  for (const what of ['draw', 'step', 'light']) tell(what);
}

function translationList(all) {
  const list = make('ol', { class: 'translations' });
  const buttons = all.map((one, number) => {
    const button = make('button', { type: 'button', 'aria-current': String(number === 0) },
      make('bdi', { dir: one.sourceDirection }, one.source.trim() || '(nothing)'));
    button.addEventListener('click', () => {
      for (const other of buttons) other.setAttribute('aria-current', other === button);
      show(one);
    });
    return button;
  });
  list.append(...buttons.map(button => make('li', {}, button)));
  return make('nav', { 'aria-label': 'Translations' }, list);
}

// Pointing at a word lights it for the while; touching it or going to it with the keyboard keeps it lit.
function follow(live) {
  const wordAt = target => {
    const found = target.closest?.('[data-side]');
    return found && !found.disabled ? { side: found.dataset.side, word: Number(found.dataset.word) } : null;
  };
  const hover = word => {
    if (view.hovered?.side === word?.side && view.hovered?.word === word?.word) return;
    view.hovered = word;
    tell('light');
  };
  live.addEventListener('pointerover', event => {
    if (event.pointerType !== 'touch' && !event.target.classList.contains('ground')) hover(wordAt(event.target));
  });
  live.addEventListener('pointerleave', () => hover(null));
  for (const kind of ['focusin', 'click']) {
    live.addEventListener(kind, event => {
      const word = wordAt(event.target);
      if (word) pin(word.side, word.word);
    });
  }
}

function begin() {
  const all = TRANSLATIONS;
  if (!all.length) return;
  const live = document.getElementById('live');
  if (all.length > 1) live.append(translationList(all));
  live.append(make('div', { id: 'open' }));
  document.getElementById('static').remove();
  follow(live);
  show(all[0]);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => tell('paint'));
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width) return;
    width = innerWidth;
    tell('draw');
    tell('light');
  });
}
begin();
