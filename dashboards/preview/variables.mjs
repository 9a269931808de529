// A dashboard's variables, with the values that Grafana would begin with: all, or the first.

export class Variables {
  #values = new Map(); // name -> {text, words}: what is put into queries, and what is shown

  static async of(dashboard, prometheus, {group, seconds, now}) {
    const made = new Variables();
    for (const variable of dashboard.templating.list) {
      if (variable.type !== 'query') continue;
      const query = made.fill(variable.query, {__range: `${seconds}s`});
      const found = await valuesOf(query, variable, prometheus, now - seconds, now);
      made.#set(variable, variable.name === 'group' && group ? [group] : found);
    }
    return made;
  }

  #set(variable, found) {
    if (found.length === 0) throw new Error(`variable ${variable.name}: nothing is found by ${variable.query}`);
    const text = !variable.includeAll ? found[0] : variable.allValue ?? `(${found.join('|')})`;
    this.#values.set(variable.name, {text, words: variable.includeAll ? 'All' : found[0], label: variable.label});
  }

  fill(expression, builtin) {
    return expression.replace(/\$([a-z_]+)/g, (whole, name) => builtin[name] ?? this.#values.get(name)?.text ?? whole);
  }

  words() {
    return [...this.#values.values()].map(({label, words}) => `${label}: ${words}`).join('   ');
  }
}

async function valuesOf(query, variable, prometheus, start, end) {
  const labels = query.match(/^label_values\((.+), (\w+)\)$/);
  if (labels) return prometheus.labelValues(labels[2], labels[1], start, end);
  const result = query.match(/^query_result\((.+)\)$/);
  if (!result) throw new Error(`variable ${variable.name}: ${query} is not known here`);
  const pattern = new RegExp(variable.regex.slice(1, -1));
  const found = (await prometheus.query(result[1], end)).map(({labels: some}) =>
    Object.entries(some).map(([name, value]) => `${name}="${value}"`).join(',').match(pattern)?.[1]);
  return [...new Set(found.filter((one) => one !== undefined))];
}
