-- MESI with several addresses, against memory models.
--
-- Models:  the protocol of ../mesi.m, once per address, and processors that wait for their own
--          misses. Misses of different processors overlap, and so do evictions with everything.
-- Network: one multiset, without order.
-- Sizes:   CACHES, ADDRESSES (1 to 3), VALUES.
-- Checks:  every value that is read is one that the specification allows (CHECK below), every
--          message is expected where it arrives, and nothing waits without something on its way.
-- Words:   a write miss may be due to another word of the line; then the word of the model keeps
--          the value that came with the line.
--
-- CHECK:   0  TSO-LB, exactly: the sets of local buffers that each processor could have.
--          1  TSO-LB with the witness of FMCAD 2017: read, or else propagate and read.
--          2  sequential consistency, as TSO-LB whose writes propagate.
--          3  atomic memory: a read returns what was written last.
--          The protocol passes all of them: it invalidates before it writes.
--
-- Wrong:   --const BUG=1  a write to a line in E does not make it M, so its eviction loses data.
--          --const BUG=2  the directory gives a line in E away while others share it.
--          --const BUG=3  a cache that evicts a line in E does not answer what is forwarded.

const
  CACHES: 2;
  ADDRESSES: 1;
  VALUES: 2;
  CHECK: 0;
  BUG: 0;
  NETWORK: ADDRESSES * (2 * CACHES + 2);      -- Messages under way at most.
  -- VALUES to the power of ADDRESSES.
  MEMORIES: VALUES * (ADDRESSES > 1 ? VALUES : 1) * (ADDRESSES > 2 ? VALUES : 1);

type
  Cache: scalarset(CACHES);
  DirectoryNode: enum {Directory};
  Node: union {DirectoryNode, Cache};
  Address: scalarset(ADDRESSES);
  Value: scalarset(VALUES);
  AckCount: 0..CACHES - 1;

  MessageType: enum {
    GetS, GetM, PutE, PutM,       -- Cache to directory.
    Done, CopyBack,               -- Cache to directory: the end of a transaction.
    FwdGetS, FwdGetM, Inv,        -- Directory to cache, on behalf of a requester.
    PutAck,                       -- Directory to cache.
    Data,                         -- Directory or owner to requester.
    DataE,                        -- Directory to requester: there is no other copy.
    InvAck                        -- Sharer to requester.
  };

  Message: record
    mtype: MessageType;
    src: Node;
    dst: Node;
    addr: Address;
    val: Value;                   -- PutM, CopyBack, Data, DataE.
    requester: Cache;             -- FwdGetS, FwdGetM, Inv.
    acks: AckCount;               -- Data: how many sharers will acknowledge.
  end;

  -- The stable states, then the transient ones: what the line was, what it will be, and what is
  -- awaited: data (D), acknowledgements (A).
  CacheState: enum {I, S, E, M, IS_D, IM_D, IM_A, EI_A, MI_A, II_A};
  DirectoryState: enum {
    DirI, DirS, DirE,             -- DirE: a cache has the line in E or M.
    AwaitDoneS, AwaitDoneE,       -- Done makes it DirS or DirE.
    AwaitBoth, AwaitCopy          -- Done and the data of the former owner make it DirS.
  };

var
  cache: array [Cache] of array [Address] of record
    state: CacheState;
    val: Value;
    acks_came: AckCount;
    acks_due: AckCount;           -- Defined when the data came.
  end;
  directory: array [Address] of record
    state: DirectoryState;
    val: Value;
    owner: Cache;
    sharers: array [Cache] of boolean;
  end;
  network: multiset [NETWORK] of Message;

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

-- Sending.

procedure send(t: MessageType; from: Node; to_: Node; a: Address);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := from;
  m.dst := to_;
  m.addr := a;
  MultiSetAdd(m, network);
end;

procedure send_value(t: MessageType; from: Node; to_: Node; a: Address; v: Value; acks: AckCount);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := from;
  m.dst := to_;
  m.addr := a;
  m.val := v;
  if t = Data then
    m.acks := acks;
  end;
  MultiSetAdd(m, network);
end;

procedure forward(t: MessageType; to_: Node; a: Address; r: Cache);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := Directory;
  m.dst := to_;
  m.addr := a;
  m.requester := r;
  MultiSetAdd(m, network);
end;

-- The cache.

-- The write itself is a hit that follows, or it was to another word.
procedure become_owner(p: Cache; a: Address);
begin
  alias line: cache[p][a] do
    line.state := M;
    undefine line.acks_due;
    line.acks_came := 0;
    send(Done, p, Directory, a);
  end;
end;

procedure unexpected_at_cache(s: CacheState);
begin
  switch s
  case I:           error "a cache in I does not expect this message";
  case S:           error "a cache in S does not expect this message";
  case E:           error "a cache in E does not expect this message";
  case M:           error "a cache in M does not expect this message";
  case IS_D:        error "a cache in IS_D does not expect this message";
  case IM_D, IM_A:  error "a cache that is getting M does not expect this message";
  case EI_A, MI_A, II_A:
                    error "a cache that is evicting does not expect this message";
  end;
end;

procedure cache_receives(p: Cache; m: Message);
begin
  alias line: cache[p][m.addr]; a: m.addr do
    switch m.mtype

    case Data:
      switch line.state
      case IS_D:
        line.state := S;
        line.val := m.val;
        send(Done, p, Directory, a);
        spec_read(p, a, m.val);
      case IM_D:
        line.val := m.val;
        line.acks_due := m.acks;
        if line.acks_due = line.acks_came then
          become_owner(p, a);
        else
          line.state := IM_A;
        end;
      else unexpected_at_cache(line.state);
      end;

    case DataE:
      switch line.state
      case IS_D:
        line.state := E;
        line.val := m.val;
        send(Done, p, Directory, a);
        spec_read(p, a, m.val);
      else unexpected_at_cache(line.state);
      end;

    case InvAck:
      switch line.state
      case IM_D:
        line.acks_came := line.acks_came + 1;
      case IM_A:
        line.acks_came := line.acks_came + 1;
        if line.acks_due = line.acks_came then
          become_owner(p, a);
        end;
      else unexpected_at_cache(line.state);
      end;

    case Inv:
      -- A sharer may have evicted the line silently, and asked for it again; or it was the
      -- owner, evicts the line, and is a sharer for the directory since it answered FwdGetS.
      switch line.state
      case S:
        line.state := I;
        undefine line.val;
        send(InvAck, p, m.requester, a);
      case I, IS_D, IM_D, II_A:
        send(InvAck, p, m.requester, a);
      else unexpected_at_cache(line.state);
      end;

    case FwdGetS:
      switch line.state
      case E, M:
        send_value(Data, p, m.requester, a, line.val, 0);
        send_value(CopyBack, p, Directory, a, line.val, 0);
        line.state := S;
      case EI_A, MI_A:
        if BUG = 3 & line.state = EI_A then unexpected_at_cache(line.state); end;
        send_value(Data, p, m.requester, a, line.val, 0);
        send_value(CopyBack, p, Directory, a, line.val, 0);
        line.state := II_A;
      else unexpected_at_cache(line.state);
      end;

    case FwdGetM:
      switch line.state
      case E, M:
        send_value(Data, p, m.requester, a, line.val, 0);
        line.state := I;
        undefine line.val;
      case EI_A, MI_A:
        if BUG = 3 & line.state = EI_A then unexpected_at_cache(line.state); end;
        send_value(Data, p, m.requester, a, line.val, 0);
        line.state := II_A;
      else unexpected_at_cache(line.state);
      end;

    case PutAck:
      switch line.state
      case EI_A, MI_A, II_A:
        line.state := I;
        undefine line.val;
      else unexpected_at_cache(line.state);
      end;

    else error "this message is not for caches";
    end;
  end;
end;

-- The directory.

procedure invalidate_sharers(r: Cache; a: Address);
begin
  for q: Cache do
    if q != r & directory[a].sharers[q] then
      forward(Inv, q, a, r);
    end;
    directory[a].sharers[q] := false;
  end;
end;

function sharers_but(r: Cache; a: Address): AckCount;
var count: AckCount;
begin
  count := 0;
  for q: Cache do
    if q != r & directory[a].sharers[q] then
      count := count + 1;
    end;
  end;
  return count;
end;

function is_request(t: MessageType): boolean;
begin
  return t = GetS | t = GetM | t = PutE | t = PutM;
end;

function is_stable(s: DirectoryState): boolean;
begin
  return s = DirI | s = DirS | s = DirE;
end;

procedure directory_receives(m: Message);
var r: Cache;
begin
  r := m.src;
  alias d: directory[m.addr]; a: m.addr do
    switch m.mtype

    case GetS:
      switch d.state
      case DirI, DirS:
        if d.state = DirI | BUG = 2 then
          send_value(DataE, Directory, r, a, d.val, 0);
          d.owner := r;
          d.state := AwaitDoneE;
        else
          send_value(Data, Directory, r, a, d.val, 0);
          d.sharers[r] := true;
          d.state := AwaitDoneS;
        end;
      case DirE:
        forward(FwdGetS, d.owner, a, r);
        d.sharers[d.owner] := true;
        d.sharers[r] := true;
        undefine d.owner;
        d.state := AwaitBoth;
      else error "the directory stalls GetS in this state";
      end;

    case GetM:
      switch d.state
      case DirI, DirS:
        send_value(Data, Directory, r, a, d.val, sharers_but(r, a));
        invalidate_sharers(r, a);
        d.owner := r;
        d.state := AwaitDoneE;
      case DirE:
        forward(FwdGetM, d.owner, a, r);
        d.owner := r;
        d.state := AwaitDoneE;
      else error "the directory stalls GetM in this state";
      end;

    case PutE, PutM:
      if d.state = DirE & d.owner = r then
        if m.mtype = PutM then d.val := m.val; end;
        undefine d.owner;
        d.state := DirI;
      end;
      -- Otherwise the owner was asked for the line while it evicted it.
      send(PutAck, Directory, r, a);

    case Done:
      switch d.state
      case AwaitDoneS: d.state := DirS;
      case AwaitDoneE: d.state := DirE;
      case AwaitBoth:  d.state := AwaitCopy;
      else
        error "the directory does not expect Done";
      end;

    case CopyBack:
      switch d.state
      case AwaitBoth: d.state := AwaitDoneS;
      case AwaitCopy: d.state := DirS;
      else
        error "the directory does not expect CopyBack";
      end;
      d.val := m.val;

    else error "this message is not for the directory";
    end;
  end;
end;

-- A processor waits for its own misses.
function may_access(p: Cache): boolean;
begin
  return forall a: Address do
    cache[p][a].state != IS_D & cache[p][a].state != IM_D & cache[p][a].state != IM_A
  end;
end;

function is_stalled(m: Message): boolean;
begin
  return is_request(m.mtype) & !is_stable(directory[m.addr].state);
end;

function is_settled(a: Address): boolean;
begin
  return is_stable(directory[a].state)
    & forall p: Cache do
        cache[p][a].state = I | cache[p][a].state = S | cache[p][a].state = E | cache[p][a].state = M
      end;
end;

-- Rules.

ruleset v: Value do
  startstate "no cache has a line"
  var m: Memory;
  begin
    for a: Address do
      for p: Cache do
        undefine cache[p][a];
        cache[p][a].state := I;
        cache[p][a].acks_came := 0;
        directory[a].sharers[p] := false;
      end;
      directory[a].state := DirI;
      undefine directory[a].owner;
      directory[a].val := v;
      m[a] := v;
    end;
    undefine network;
    spec_start(m);
  end;
end;

ruleset p: Cache; a: Address do
  alias line: cache[p][a] do
    rule "read hit" may_access(p) & (line.state = S | line.state = E | line.state = M) ==>
      spec_read(p, a, line.val);
    end;

    rule "read miss" may_access(p) & line.state = I ==>
      send(GetS, p, Directory, a);
      line.state := IS_D;
    end;

    ruleset v: Value do
      rule "write hit" may_access(p) & (line.state = E | line.state = M) ==>
        if BUG != 1 then line.state := M; end;
        line.val := v;
        spec_write(p, a, v);
      end;
    end;

    rule "write miss" may_access(p) & (line.state = I | line.state = S) ==>
      send(GetM, p, Directory, a);
      undefine line.val;
      line.state := IM_D;
    end;

    rule "evict a shared line" line.state = S ==>
      line.state := I;
      undefine line.val;
    end;

    rule "evict a clean line that is the only copy" line.state = E ==>
      send(PutE, p, Directory, a);
      line.state := EI_A;
    end;

    rule "evict a modified line" line.state = M ==>
      send_value(PutM, p, Directory, a, line.val, 0);
      line.state := MI_A;
    end;
  end;
end;

choose i: network do
  ruleset p: Cache do
    rule "cache receives" network[i].dst = p ==>
    var m: Message;
    begin
      m := network[i];
      MultiSetRemove(i, network);
      cache_receives(p, m);
    end;
  end;

  rule "directory receives" network[i].dst = Directory & !is_stalled(network[i]) ==>
  var m: Message;
  begin
    m := network[i];
    MultiSetRemove(i, network);
    directory_receives(m);
  end;
end;

-- Properties, besides those above.

invariant "who waits, waits for something that is on its way"
  forall a: Address do
    !is_settled(a) ->
      MultiSetCount(i: network, network[i].addr = a & !is_stalled(network[i])) > 0
  end;
