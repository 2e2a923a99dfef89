// What if another word had stood there: the alternatives of a target word, and the translation that comes of each.

function compared(parts, kind, direction) {
  return make('p', { class: 'compared', dir: direction }, ...parts.map(
    ([text, isOther]) => (isOther ? make(kind, {}, text) : make('span', {}, text))));
}

function outcome(one, choice) {
  const score = value => (value === null ? '' : ` (mean log-probability ${decimal(value, 3)})`);
  return [
    make('h3', {}, `As it was${score(one.score)}`), compared(choice.before, 'del', one.targetDirection),
    make('h3', {}, 'With ', choice.forced ? apart(choice.forced) : 'its end', ` there${score(choice.score)}`),
    compared(choice.after, 'ins', one.targetDirection),
  ];
}

function alternative(one, choice, result, list) {
  const button = make('button', { type: 'button', class: 'alternative', 'aria-pressed': 'false' },
    make('bdi', {}, choice.forced ? named(choice.forced) : END),
    make('span', { class: 'bar' }, fraction(choice.probability ?? 0)),
    make('span', { class: 'share' }, choice.probability === null ? '–' : percent(choice.probability)));
  button.addEventListener('click', () => {
    for (const other of list.querySelectorAll('button')) other.setAttribute('aria-pressed', other === button);
    result.replaceChildren(...outcome(one, choice));
  });
  return make('li', {}, button);
}

function whatIfCard(one) {
  const places = new Set(one.whatIfs.map(choice => choice.word));
  const row = make('p', { class: 'sentence target places', role: 'group', dir: one.targetDirection,
    'aria-label': 'Words to replace' });
  labelsOf(one, 'target').forEach((word, number) => {
    const button = wordButton('target', word, number);
    button.disabled = !places.has(number);
    button.tabIndex = number === Math.min(...places) ? 0 : -1;
    row.append(button);
  });
  const list = make('ul', { class: 'bars alternatives' });
  const result = make('div', { class: 'outcome', 'aria-live': 'polite' });
  let shownWord = null;
  view.parts.push({ light: () => {
    const word = view.pinned?.side === 'target' ? view.pinned.word : null;
    if (word === null || word === shownWord) return;
    shownWord = word;
    const choices = one.whatIfs.filter(choice => choice.word === word).sort((a, b) => b.probability - a.probability);
    const none = make('li', { class: 'remark' }, 'No other word was tried here.');
    list.replaceChildren(...(choices.length ? choices.map(choice => alternative(one, choice, result, list)) : [none]));
    result.replaceChildren();
  } });
  return make('section', { class: 'card', 'aria-labelledby': 'what-if' }, make('h2', { id: 'what-if' }, 'What if'),
    make('p', { class: 'remark' }, 'Choose a word of the translation, then another in its place: the rest is what the ',
      'model writes after it.'), rovingEnabled(row), list, result);
}

// As `roving`, past the words that cannot be chosen.
function rovingEnabled(row) {
  for (const button of row.querySelectorAll(':disabled')) button.classList.remove('word');
  return roving(row);
}
