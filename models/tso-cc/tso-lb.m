-- TSO-LB itself, against the specifications that protocols are checked with.
--
-- Models:  the machine of C. Banks et al., "Verification of a lazy cache coherence protocol against
--          a weak memory model", FMCAD 2017, Definition 2: a global memory, a local buffer per
--          processor, writes to both, reads from the buffer, and a silent step that fills a buffer
--          from the global memory.
-- Sizes:   CACHES (processors), ADDRESSES (1 to 3), VALUES.
-- Checks:  CHECK: 0 allows every run of the machine, and the buffer that each processor has is
--          among those that it could have. This is a test of the specification, not of a protocol.
-- Wrong:   --const CHECK=1  the witness "read, or else propagate and read" refuses a run of TSO-LB
--                           itself: a buffer was filled before the value was needed, and the
--                           global memory changed again.
--          --const CHECK=2  sequential consistency: the machine is weaker.
--          --const CHECK=3  atomic memory: the machine is weaker.

const
  CACHES: 2;
  ADDRESSES: 2;
  VALUES: 2;
  CHECK: 0;
  -- VALUES to the power of ADDRESSES.
  MEMORIES: VALUES * (ADDRESSES > 1 ? VALUES : 1) * (ADDRESSES > 2 ? VALUES : 1);

type
  Cache: scalarset(CACHES);
  Address: scalarset(ADDRESSES);
  Value: scalarset(VALUES);

-- The specification. This section can be put into any model: it needs the types Cache, Address
-- and Value and the constants MEMORIES and CHECK, and gives spec_start, spec_write and spec_read.
--
-- TSO-LB (FMCAD 2017, Definition 2) has a global memory and a local buffer per processor. A write
-- goes to the global memory and to the buffer of its processor; a read returns what is in the
-- buffer; and at any time the global memory may be copied into a buffer as a whole, which nobody
-- sees. Here each processor has the set of the buffers that it could have by now. A read leaves
-- those that agree with it. If none is left, no run of TSO-LB has the same reads and writes; as
-- long as some are, there is one. So the check is exact, and no step of the protocol needs to say
-- when a buffer is filled.

type
  Memory: array [Address] of Value;
  Memories: multiset [MEMORIES] of Memory;       -- A set: no element is in it twice.

var
  global: Memory;
  possible: array [Cache] of Memories;           -- CHECK 0 and 2.
  witness: array [Cache] of Memory;              -- CHECK 1.

function is_same(x, y: Memory): boolean;
begin
  return forall a: Address do x[a] = y[a] end;
end;

function is_same_but(x, y: Memory; a: Address): boolean;
begin
  return forall b: Address do b = a | x[b] = y[b] end;
end;

procedure insert(m: Memory; var set: Memories);
begin
  if MultiSetCount(i: set, is_same(set[i], m)) = 0 then
    MultiSetAdd(m, set);
  end;
end;

-- Counts through the memories that are the same at a. After all, it is back at the first.
procedure next_but(var m: Memory; a: Address);
var carry, passed: boolean; old, first: Value;
begin
  carry := true;
  for b: Address do
    if b != a & carry then
      old := m[b];
      undefine first;
      passed := false;
      for v: Value do
        if isundefined(first) then first := v; end;
        if passed & carry then
          m[b] := v;
          carry := false;
        end;
        if v = old then passed := true; end;
      end;
      if carry then m[b] := first; end;
    end;
  end;
end;

-- Every buffer of the set gets v at a.
procedure write_all(var set: Memories; a: Address; v: Value);
var m: Memory;
begin
  m := global;
  m[a] := v;
  for n := 1 to MEMORIES / VALUES do
    if MultiSetCount(i: set, is_same_but(set[i], m, a)) > 0 then
      MultiSetRemovePred(i: set, is_same_but(set[i], m, a));
      MultiSetAdd(m, set);
    end;
    next_but(m, a);
  end;
end;

procedure spec_start(m: Memory);
begin
  global := m;
  undefine witness;
  for p: Cache do
    undefine possible[p];
    if CHECK = 0 | CHECK = 2 then insert(global, possible[p]); end;
    if CHECK = 1 then witness[p] := global; end;
  end;
end;

procedure spec_write(p: Cache; a: Address; v: Value);
begin
  global[a] := v;
  if CHECK = 0 then write_all(possible[p], a, v); end;
  if CHECK = 1 then witness[p][a] := v; end;
  if CHECK = 2 then undefine possible[p]; end;
  if CHECK = 0 | CHECK = 2 then
    for q: Cache do insert(global, possible[q]); end;
  end;
end;

procedure spec_read(p: Cache; a: Address; v: Value);
var is_allowed: boolean;
begin
  switch CHECK
  case 0, 2:
    MultiSetRemovePred(i: possible[p], possible[p][i][a] != v);
    is_allowed := MultiSetCount(i: possible[p], true) > 0;
    insert(global, possible[p]);
  case 1:
    if witness[p][a] != v then witness[p] := global; end;
    is_allowed := witness[p][a] = v;
  else
    is_allowed := global[a] = v;
  end;
  assert "the specification allows the value that is read" is_allowed;
end;

-- End of the specification.

-- The machine. Its global memory is that of the specification.

var
  buffer: array [Cache] of Memory;

ruleset v: Value do
  startstate "all have the same memory"
  var m: Memory;
  begin
    for a: Address do m[a] := v; end;
    for p: Cache do buffer[p] := m; end;
    spec_start(m);
  end;
end;

ruleset p: Cache do
  ruleset a: Address do
    rule "read"
      spec_read(p, a, buffer[p][a]);
    end;

    ruleset v: Value do
      rule "write"
        buffer[p][a] := v;
        spec_write(p, a, v);
      end;
    end;
  end;

  rule "propagate"
    buffer[p] := global;
  end;
end;

invariant "the buffer is one of the possible ones"
  CHECK = 0 ->
    forall p: Cache do MultiSetCount(i: possible[p], is_same(possible[p][i], buffer[p])) = 1 end;
