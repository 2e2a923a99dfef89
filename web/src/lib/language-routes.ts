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

/** The target itself if the source has it, otherwise the first target of the source. */
export function validTarget(routes: readonly Route[], source: string, target: string): string {
  const all = targetLanguages(routes, source);
  return all.includes(target) ? target : (all[0] ?? '');
}
