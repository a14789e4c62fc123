/** The headers of a request, by their names in lower case. */
export interface RequestHeaders {
  get(name: string): string | null;
}
