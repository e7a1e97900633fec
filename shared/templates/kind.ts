import { ABANDONED, defineKind, SHORT_QUEUE } from '../engine/kind.js';

/** Reading a template source (a repository) twice is harmless, so no lease is needed. */
export const TEMPLATE_SOURCES = defineKind({
  table: 'template_sources',
  payload: 'templateSourceId',
  queues: { 'template-source': SHORT_QUEUE },
  lease: null,
  abandoned: ABANDONED,
});
