-- A first model: caches that may read or write one line.

const
  CacheCount: 2;

type
  Cache: scalarset(CacheCount);
  State: enum {Invalid, Shared, Modified};

var
  state: array [Cache] of State;

startstate "all empty"
  for c: Cache do state[c] := Invalid; end;
end;

ruleset c: Cache do
  rule "read"
    state[c] = Invalid
  ==>
    state[c] := Shared;
  end;

  rule "drop"
    state[c] != Invalid
  ==>
    state[c] := Invalid;
  end;
end;

invariant "one writer, or readers"
  forall c: Cache do
    state[c] = Modified ->
      forall other: Cache do other != c -> state[other] = Invalid end
  end;
