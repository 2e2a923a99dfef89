// Between which languages texts can be translated, and by which models.
import type { Route } from './types';

export const AUTO = 'auto';

export function sources(routes: readonly Route[]): string[] {
  return [...new Set(routes.map(route => route.source))].sort();
}

/** With a source that is not known yet, every target. */
export function targets(routes: readonly Route[], source: string): string[] {
  const those = routes.filter(route => source === AUTO || route.source === source);
  return [...new Set(those.map(route => route.target))].sort();
}

export function routeOf(routes: readonly Route[], source: string, target: string): Route | undefined {
  return routes.find(route => route.source === source && route.target === target);
}

/** Models that can be asked for by name: those of the pair itself, not those that go through a third language. */
export function choices(routes: readonly Route[], source: string, target: string): string[] {
  return (routeOf(routes, source, target)?.models ?? []).filter(each => each.length === 1).map(each => each[0]!);
}

/** The target to take where the one that was chosen cannot be had from this source. */
export function fitting(routes: readonly Route[], source: string, target: string): string {
  const all = targets(routes, source);
  return all.includes(target) ? target : (all[0] ?? '');
}
