import { useQuery } from '@tanstack/react-query';
import { ApiError, unreachable } from './api-client.js';

export interface FieldSchema {
  $ref?: string;
  type?: string;
  default?: unknown;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  format?: string;
  items?: FieldSchema;
  anyOf?: readonly FieldSchema[];
}
export type FieldSchemas = Readonly<Record<string, FieldSchema>>;

interface ApiDocument {
  components: { schemas: Record<string, FieldSchema & { properties?: FieldSchemas }> };
}

/** Returns the fields of a schema in the OpenAPI document. Does not poll, because only upgrades change it. */
export function useFieldSchemas(name: 'ServiceConfiguration' | 'WorkspaceConfiguration') {
  return useQuery<FieldSchemas, ApiError>({
    queryKey: ['document', name],
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    queryFn: async ({ signal }) => {
      const response = await fetch('/api/v1/openapi.json', { signal }).catch(() => {
        throw unreachable();
      });
      if (!response.ok) throw new ApiError(response.status, {});
      const { components } = (await response.json()) as ApiDocument;
      const fields = Object.entries(components.schemas[name]?.properties ?? {});
      return Object.fromEntries(
        fields.map(([field, { $ref, ...own }]) => [
          field,
          { ...components.schemas[$ref?.split('/').at(-1) ?? ''], ...own },
        ]),
      );
    },
  });
}
