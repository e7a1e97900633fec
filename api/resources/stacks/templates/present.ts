import type { Document } from 'yaml';
import type { Template } from './catalog.js';
import type { TemplatePresentation } from './schema.js';

export function presentTemplate(template: Template): TemplatePresentation {
  const { name, title, description, categories, website, source, version, checked, memoryMb, questions } = template;
  return { name, title, description, categories, website, source, version, checked, memoryMb, questions };
}

/** Writes a tree as YAML, with its comments. */
export function textOf(document: Document): string {
  return document.toString({ lineWidth: 0 });
}
