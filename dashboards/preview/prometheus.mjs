// The part of Prometheus' HTTP API that dashboards need.

const PATIENCE = 30_000; // milliseconds a request

export class Prometheus {
  constructor(url) {
    this.url = url.replace(/\/$/, '');
  }

  async #get(path, parameters) {
    const answer = await fetch(`${this.url}/api/v1/${path}?${new URLSearchParams(parameters)}`,
      {signal: AbortSignal.timeout(PATIENCE)});
    const body = await answer.json();
    if (body.status !== 'success') throw new Error(`Prometheus refuses ${Object.values(parameters)[0]}: ${body.error}`);
    return body.data;
  }

  /** Series, each with its labels and points [[seconds, number]]: here one. */
  async query(expression, time) {
    const {result, resultType} = await this.#get('query', {query: expression, time});
    if (resultType === 'scalar') return [{labels: {}, points: [number(result)]}];
    return result.map(({metric, value}) => ({labels: metric, points: [number(value)]}));
  }

  async queryRange(expression, start, end, step) {
    const {result} = await this.#get('query_range', {query: expression, start, end, step});
    return result.map(({metric, values}) => ({labels: metric, points: values.map(number)}));
  }

  /** Of all series that match, within the time given. */
  async labelValues(label, match, start, end) {
    return this.#get(`label/${label}/values`, {...(match ? {'match[]': match} : {}), start, end});
  }
}

function number([time, text]) {
  return [time, text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text)];
}
