'use strict';
// What the other parts share: the values, making elements, the translation that is shown, what of it is
// chosen, and its weights.
// Texts reach the page as text nodes only, never as markup.

const SVG = 'http://www.w3.org/2000/svg';
const { end: END, translations: TRANSLATIONS } = JSON.parse(document.getElementById('values').textContent);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function percent(share) {
  if (share > 0 && share < 0.0005) return '<\u00a00.1\u00a0%';
  return `${share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)}\u00a0%`;
}
const decimal = (number, digits = 2) => (number === null ? '–' : number.toFixed(digits).replace('-', '−'));
const named = word => word.trim() || 'a space';
const apart = word => make('bdi', {}, named(word));  // does not turn what stands around it

// Attributes of a text in SVG, where the direction also turns what its start is.
const anchored = (anchor, direction) => (direction === 'rtl'
  ? { direction, 'text-anchor': { start: 'end', end: 'start', middle: 'middle' }[anchor] } : { 'text-anchor': anchor });

const sheet = document.createElement('canvas').getContext('2d');
sheet.font = '13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const widthOf = text => sheet.measureText(text).width;
function cut(text, widest) {
  if (widthOf(text) <= widest) return text;
  const signs = [...text];
  while (signs.length > 1 && widthOf(`${signs.join('')}…`) > widest) signs.pop();
  return `${signs.join('')}…`;
}

// The translation that is shown. Layer and head -1 are means; `pinned` and `hovered` are words, {side, word}.
const view = { one: null, layer: 0, head: -1, reading: 'predicted', step: 0, pinned: null, hovered: null, parts: [] };

// Parts of the page that follow: `draw` after another map was chosen, `light` after another word, `step` after a step.
const tell = what => { for (const part of view.parts) if (part[what]) part[what](); };
const lit = () => view.hovered ?? view.pinned;

const rowsOf = (one, reading) => ({
  predicted: one.targetWords.length + 1, given: one.targetWords.length, steps: one.pieces.length + 1,
}[reading]);
const columnsOf = one => one.sourceWords.length + 1;
const labelsOf = (one, side) => [...(side === 'source' ? one.sourceWords : one.targetWords), END];

// One map, [rows][columns], each weight from 0 to 1: that of a head, or the mean over what is -1.
function weightsOf(one, layer, head, reading) {
  const rows = rowsOf(one, reading);
  const columns = columnsOf(one);
  const size = rows * columns;
  const sum = new Float64Array(size);
  const layers = layer < 0 ? [...Array(one.layers).keys()] : [layer];
  const heads = head < 0 ? [...Array(one.heads).keys()] : [head];
  for (const a of layers) {
    for (const b of heads) {
      const start = (a * one.heads + b) * size;
      for (let i = 0; i < size; i++) sum[i] += one[reading][start + i];
    }
  }
  const scale = 1 / (1000 * layers.length * heads.length);
  return Array.from({ length: rows }, (_, row) => sum.subarray(row * columns, (row + 1) * columns).map(w => w * scale));
}
let kept = { weights: null };
function shownWeights() {
  const { one, layer, head, reading } = view;
  const isKept = kept.one === one && kept.layer === layer && kept.head === head && kept.reading === reading;
  if (!isKept) kept = { one, layer, head, reading, weights: weightsOf(one, layer, head, reading) };
  return kept.weights;
}

// How widely a target word looks around, in bits, by the shares of its weights; how much a source word is looked at
// by all words together; the end of the translation is none.
function entropyOf(row) {
  const sum = row.reduce((a, b) => a + b, 0);
  if (!sum) return 0;
  return Math.max(0, -row.reduce((bits, weight) => bits + (weight ? (weight / sum) * Math.log2(weight / sum) : 0), 0));
}
const coverageOf = (one, weights, column) => (
  weights.slice(0, one.targetWords.length).reduce((sum, row) => sum + row[column], 0));

const mapName = () => {
  const layer = view.layer < 0 ? 'mean of all layers' : `layer ${view.layer + 1}`;
  const head = view.one.heads === 1 ? '' : view.head < 0 ? ', mean of heads' : `, head ${view.head + 1}`;
  return layer + head;
};

function pin(side, word) {
  view.pinned = { side, word };
  view.hovered = null;
  if (side === 'target') {
    const first = view.one.pieceWords.indexOf(word);
    view.step = first < 0 ? view.one.pieces.length : first;
    tell('step');
  }
  tell('light');
}
