-- The first model with writes, and with an error.

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

  rule "write"
    state[c] != Modified
  ==>
    for other: Cache do state[other] := Invalid; end;
    state[c] := Modified;
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
