// Language pairs that the server can translate, and the models for each.
import type { Route } from './types';

export const AUTO = 'auto';

export function sourceLanguages(routes: readonly Route[]): string[] {
  return [...new Set(routes.map(route => route.source))].sort();
}

/** The targets of a source language; all targets while the source is to be detected. */
export function targetLanguages(routes: readonly Route[], source: string): string[] {
  const matching = routes.filter(route => source === AUTO || route.source === source);
  return [...new Set(matching.map(route => route.target))].sort();
}

export function findRoute(routes: readonly Route[], source: string, target: string): Route | undefined {
  return routes.find(route => route.source === source && route.target === target);
}

/** Models of the pair itself, without those that pivot through a third language. */
export function directModels(routes: readonly Route[], source: string, target: string): string[] {
  return (findRoute(routes, source, target)?.models ?? []).flatMap(models => (models.length === 1 ? models : []));
}

/** The target itself if the source has it, otherwise the default of the source. */
export function validTarget(routes: readonly Route[], source: string, target: string): string {
  return targetLanguages(routes, source).includes(target) ? target : defaultTarget(routes, source);
}

/** The target of the first direct model of a source, or of the first pivot if it has none. */
export function defaultTarget(routes: readonly Route[], source: string): string {
  const matching = routes.filter(route => source === AUTO || route.source === source);
  return (matching.find(route => route.via === null) ?? matching[0])?.target ?? '';
}
