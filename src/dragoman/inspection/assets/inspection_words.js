// The two sentences, word by word, with a bar under each word, and the line that says what the lit word looks at.

function wordButton(side, text, number) {
  const kind = text === END ? 'word end' : 'word';
  const place = { 'data-side': side, 'data-word': number, tabindex: number ? -1 : 0 };
  return make('button', { type: 'button', class: kind, ...place },
    make('bdi', {}, text.trim() ? text : '\u00a0'), make('span', { class: 'bar' }, make('i')));
}

// Left and right go as the words do; Tab leaves the sentence.
function roving(row) {
  row.addEventListener('keydown', event => {
    const words = [...row.querySelectorAll('.word')];
    const place = words.indexOf(event.target.closest('.word'));
    const forward = row.dir === 'rtl' ? -1 : 1;
    const steps = { ArrowLeft: -forward, ArrowRight: forward, Home: -place, End: words.length - 1 - place };
    if (place < 0 || !(event.key in steps)) return;
    const next = words[Math.max(0, Math.min(words.length - 1, place + steps[event.key]))];
    for (const word of words) word.tabIndex = word === next ? 0 : -1;
    next.focus();
    event.preventDefault();
  });
  return row;
}

function sentenceRow(one, side) {
  const words = one.layers ? labelsOf(one, side) : labelsOf(one, side).slice(0, -1);
  const row = make('p', {
    class: `sentence ${side}`, role: 'group', dir: side === 'source' ? one.sourceDirection : one.targetDirection,
    'aria-label': side === 'source' ? 'Source, word by word' : 'Translation, word by word',
  });
  row.append(...words.map((word, number) => wordButton(side, word, number)));
  return roving(row);
}

// Words that are linked to the lit one, the strongest first: [{number, weight}].
function linksOf(weights, { side, word }) {
  const all = side === 'target' ? [...(weights[word] ?? [])] : weights.map(row => row[word]);
  return all.map((weight, number) => ({ number, weight })).sort((a, b) => b.weight - a.weight);
}

// As parts of a line.
function saying(one, weights, { side, word }) {
  const other = labelsOf(one, side === 'target' ? 'source' : 'target');
  const found = linksOf(weights, { side, word });
  if (!found.length) return ['The end of the translation is given to no step.'];
  const most = found.filter(link => link.weight >= 0.05).slice(0, 5).flatMap((link, place) => (
    [place ? ', ' : '', apart(other[link.number]), ` ${percent(link.weight)}`]));
  const what = apart(labelsOf(one, side)[word]);
  const sum = side === 'target'
    ? `entropy ${decimal(entropyOf(weights[word]))} bits` : `coverage ${decimal(coverageOf(one, weights, word))}`;
  if (!most.length) return [what, ` is linked to nothing in particular; ${sum}`];
  return [what, side === 'target' ? ' looks at ' : ' is looked at by ', ...most, `; ${sum}`];
}

function wordsCard(one) {
  const says = make('p', { class: 'says', 'aria-live': 'polite' });
  const rows = { source: sentenceRow(one, 'source'), target: sentenceRow(one, 'target') };
  const score = one.score === null ? '' : `mean log-probability ${decimal(one.score, 3)}`;
  const about = [one.model, score].filter(Boolean).join(' · ');
  const card = make('section', { class: 'card sample', 'aria-labelledby': 'words' },
    make('h2', { id: 'words' }, about || 'Source and translation'), rows.source, rows.target,
    make('ul', { class: 'flags' }, ...one.flags.map(flag => make('li', { class: 'flag' }, flag))));
  if (one.layers) card.append(says, barsLine(one));
  view.parts.push({ draw: () => drawBars(one, rows), light: () => lightWords(one, says) });
  return card;
}

function barsLine(one) {
  const most = Math.log2(columnsOf(one));
  return make('p', { class: 'remark' },
    'Bars under the source are its coverage: how much all words together looked at it, a full bar at 2 or more; ',
    'about 1 is usual, near 0 may be a word left out, far more one said twice. Bars under the translation are entropy: ',
    `how widely the word looked around, from 0 bits (one place only) to ${decimal(most, 1)} (everywhere alike).`);
}

function drawBars(one, rows) {
  if (!one.layers) return;
  const weights = shownWeights();
  const widest = Math.log2(columnsOf(one));
  const set = (button, share, title) => {
    button.querySelector('i').style.width = `${Math.round(100 * Math.min(1, share))}%`;
    button.title = title;
  };
  rows.source.querySelectorAll('.word').forEach((button, column) => {
    const looked = coverageOf(one, weights, column);
    set(button, looked / 2, `coverage ${decimal(looked)}`);
  });
  rows.target.querySelectorAll('.word').forEach((button, row) => {
    const bits = row < weights.length ? entropyOf(weights[row]) : 0;
    set(button, bits / widest, `entropy ${decimal(bits)} bits`);
  });
}

// Lights words wherever they stand on the page, but for maps, which have their own ways.
function lightWords(one, says) {
  const chosen = lit();
  const weights = one.layers && chosen ? shownWeights() : [];
  const links = chosen ? new Map(linksOf(weights, chosen).map(link => [link.number, link.weight])) : new Map();
  for (const button of document.querySelectorAll('#live .word')) {
    const number = Number(button.dataset.word);
    const isChosen = chosen?.side === button.dataset.side && chosen.word === number;
    button.classList.toggle('chosen', isChosen);
    const weight = chosen && !isChosen && chosen.side !== button.dataset.side ? links.get(number) ?? 0 : 0;
    button.style.setProperty('--weight', Math.min(0.85, weight).toFixed(3));
  }
  says.replaceChildren(...(one.layers && chosen ? saying(one, weights, chosen) : []));
}
