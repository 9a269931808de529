// Values as words, by Grafana's names of units.
'use strict';

(() => {
  const round = (value, places) => String(Number(places === undefined ? value.toPrecision(3) : value.toFixed(places)));

  function scaled(value, base, names) {
    let place = 0;
    while (Math.abs(value) >= base && place < names.length - 1) {
      value /= base;
      ++place;
    }
    return round(value) + names[place];
  }

  function seconds(value) {
    const size = Math.abs(value);
    if (size === 0) return '0 s';
    if (size < 1e-3) return `${round(value * 1e6)} µs`;
    if (size < 1) return `${round(value * 1e3)} ms`;
    if (size < 120) return `${round(value)} s`;
    if (size < 7200) return `${round(value / 60)} min`;
    return `${round(value / 3600)} h`;
  }

  window.words = (value, unit, decimals) => {
    switch (unit) {
      case 's': return seconds(value);
      case 'percentunit': return `${round(value * 100, decimals)} %`;
      case 'bytes': return scaled(value, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
      case 'ops': return `${scaled(value, 1000, ['', 'k', 'M'])} ops/s`;
      case 'reqps': return `${scaled(value, 1000, ['', 'k', 'M'])} req/s`;
      case 'locale': return Math.round(value).toLocaleString('en');
      case 'none': return String(Number(value.toPrecision(6)));
      case 'short': return scaled(value, 1000, ['', ' K', ' Mil', ' Bil']);
      default: throw new Error(`unit ${unit} is not known here`);
    }
  };
})();
