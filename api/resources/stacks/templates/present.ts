import type { Document } from 'yaml';
import type { TemplateFacts } from '../../../../shared/templates/template-file.js';
import type { TemplatePresentation } from './schema.js';

export function presentTemplate(template: TemplateFacts): TemplatePresentation {
  const { name, title, description, categories, website, source, version, checked, memoryMb, questions } = template;
  return { name, title, description, categories, website, source, version, checked, memoryMb, questions };
}

export function textOf(document: Document): string {
  return document.toString({ lineWidth: 0 });
}
