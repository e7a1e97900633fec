/** Returns the error with which the work ends. Rejects if the work succeeds. */
export function failureOf<E extends Error = Error>(work: PromiseLike<unknown>): Promise<E> {
  return Promise.resolve(work).then(
    (value) => Promise.reject(new Error(`a failure was expected, and the work gave ${value}`)),
    (error: E) => error,
  );
}

/** Returns the message of the error with which the work ends; '' if the work succeeds. */
export function messageOf(work: PromiseLike<unknown>): Promise<string> {
  return Promise.resolve(work).then(
    () => '',
    (error: Error) => error.message,
  );
}

/** Returns the code of the error with which the work ends, or the error as text; `success` if there is no error. */
export function codeOf(work: PromiseLike<unknown>, success = 'done'): Promise<string> {
  return Promise.resolve(work).then(
    () => success,
    (error: { code?: string }) => error.code ?? String(error),
  );
}
