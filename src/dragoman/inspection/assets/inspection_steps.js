// How it was written: a slider over the steps, and at each the pieces so far, the candidates, and what was looked at.

const PACE = 900;  // milliseconds a step while it plays

const candidateText = ([text, , isEnd]) => (isEnd ? END : named(text));

function bars(entries) {
  return entries.map(({ text, share, kind, note }) => make('li', { class: kind ?? false },
    make('bdi', {}, text), make('span', { class: 'bar' }, fraction(share)),
    make('span', { class: 'share' }, percent(share)), make('span', { class: 'note' }, note ?? '')));
}

function fraction(share) {
  const bar = make('i');
  bar.style.width = `${(100 * Math.min(1, share)).toFixed(1)}%`;
  return bar;
}

function piecesSoFar(one, step) {
  return one.pieces.slice(0, step).map(piece => make('bdi', { class: 'piece' }, piece))
    .concat(make('bdi', { class: 'piece now' }, step < one.pieces.length ? one.pieces[step] : END));
}

// What the model looked at when it wrote this piece.
function lookOf(one, step) {
  if (!one.layers) return [];
  const weights = weightsOf(one, view.layer, view.head, 'steps')[step];
  return labelsOf(one, 'source').map((word, number) => {
    const shaded = make('bdi', { class: 'look' }, word);
    shaded.style.setProperty('--weight', Math.min(0.85, weights[number]).toFixed(3));
    shaded.title = percent(weights[number]);
    return shaded;
  });
}

function player(slider, count) {
  let timer = null;
  const button = make('button', { type: 'button' }, 'Play');
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = 'Play';
  };
  const next = () => {
    if (view.step >= count - 1 || !button.isConnected) return stop();
    return goTo(view.step + 1);
  };
  button.addEventListener('click', () => {
    if (timer !== null) return stop();
    if (view.step >= count - 1) goTo(0);
    button.textContent = 'Stop';
    timer = setInterval(next, PACE);
    return timer;
  });
  slider.addEventListener('input', stop);
  return button;
}

// The step's word is lit in the maps too.
function goTo(step) {
  const { one } = view;
  view.step = Math.max(0, Math.min(one.pieces.length, step));
  view.pinned = { side: 'target', word: one.pieceWords[view.step] ?? one.targetWords.length };
  view.hovered = null;
  tell('step');
  tell('light');
}

function stepsCard(one) {
  const count = one.pieces.length + 1;
  const slider = make('input', { type: 'range', min: 0, max: count - 1, step: 1, 'aria-label': 'Step' });
  const back = make('button', { type: 'button', 'aria-label': 'One step back' }, '‹');
  const on = make('button', { type: 'button', 'aria-label': 'One step on' }, '›');
  slider.addEventListener('input', () => goTo(Number(slider.value)));
  back.addEventListener('click', () => goTo(view.step - 1));
  on.addEventListener('click', () => goTo(view.step + 1));
  const place = make('output', { class: 'place' });
  const written = make('p', { class: 'pieces', dir: one.targetDirection });
  const candidates = make('ol', { class: 'bars candidates' });
  const look = make('p', { class: 'looks', dir: one.sourceDirection });
  const lookName = make('h3', {});
  view.parts.push({ step: () => {
    slider.value = view.step;
    slider.setAttribute('aria-valuetext', `step ${view.step + 1} of ${count}`);
    place.textContent = `${view.step + 1} of ${count}`;
    back.disabled = view.step === 0;
    on.disabled = view.step === count - 1;
    written.replaceChildren(...piecesSoFar(one, view.step));
    candidates.replaceChildren(...bars((one.candidates[view.step] ?? []).map(each => ({
      text: candidateText(each), share: each[1] ?? 0, kind: each[3] ? 'written' : null, note: each[3] ? 'written' : '',
    }))));
    look.replaceChildren(...lookOf(one, view.step));
    lookName.textContent = `What this step looks at, ${mapName()}`;
  } });
  const card = make('section', { class: 'card', 'aria-labelledby': 'steps' },
    make('h2', { id: 'steps' }, 'Step by step'),
    make('div', { class: 'player' }, back, player(slider, count), on, slider, place),
    make('h3', {}, 'Written so far'), written, make('h3', {}, 'The likeliest at this step'), candidates);
  if (one.layers) card.append(lookName, look);
  if (one.pieces.some(piece => piece.includes('▁'))) {
    card.append(make('p', { class: 'remark' }, '▁ is the space before a word.'));
  }
  return card;
}
