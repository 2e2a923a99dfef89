// Types of the HTTP API, derived from the generated `openapi.ts`; `npm run openapi` updates it.
import type { components, paths } from './openapi';

type JsonContent<Body> = { content: { 'application/json': Body } };
type ResponseOf<Operation> = Operation extends { responses: { 200: JsonContent<infer Body> } } ? Body : never;
type RequestOf<Operation> = Operation extends { requestBody: JsonContent<infer Body> } ? Body : never;

export type ServerSettings = ResponseOf<paths['/frontend/settings']['get']>;
export type ModelList = ResponseOf<paths['/v1/models']['get']>;
export type ModelInfo = ModelList['models'][number];
export type Route = ModelList['routes'][number];
export type Glossary = NonNullable<RequestOf<paths['/v1/translate']['post']>['glossary']>;
type TranslatedText = ResponseOf<paths['/v1/translate']['post']>['translations'][number];
export type ErrorCode = components['schemas']['Problem']['code'];
export type Flag = NonNullable<TranslatedText['flags']>[number];

/** The page translates one text per request; the API also accepts a list. */
export type TranslateRequest = Pick<
  RequestOf<paths['/v1/translate']['post']>,
  'source' | 'target' | 'model' | 'alternatives' | 'glossary'
> & { text: string };

export type CorrectionRequest = Pick<
  RequestOf<paths['/v1/corrections']['post']>,
  'source_text' | 'text' | 'source' | 'target' | 'draft'
>;
export type Match = NonNullable<TranslatedText['memory']>;
export type Effort = ResponseOf<paths['/v1/effort']['get']>;
export type Correction = ResponseOf<paths['/v1/corrections']['post']>;

/** One translation of a text or a sentence. Shapes: weights [target words][source words]. */
export type Hypothesis = Pick<TranslatedText, 'text' | 'score'> &
  Partial<Pick<TranslatedText, 'confidence' | 'flags' | 'source_words' | 'target_words' | 'alignment' | 'weights'>>;

/** OpenAPI declares the entries of `sentences` and `nbest` as plain objects. */
export type Sentence = Hypothesis & Pick<TranslatedText, 'source'> & { nbest?: Hypothesis[] | null };
export type Translation = Sentence &
  Pick<TranslatedText, 'models' | 'via' | 'detected'> &
  Partial<Pick<TranslatedText, 'alternatives' | 'memory' | 'matches'>> & { sentences?: Sentence[] | null };

/** Shapes: predicted [layers][heads][target words + 1][source words + 1], entropy in bits [layers][heads][target words]. */
export type InspectionResult = Pick<
  ResponseOf<paths['/v1/inspect']['post']>,
  'source_words' | 'target_words' | 'predicted' | 'entropy' | 'default_layer'
>;
