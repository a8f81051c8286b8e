-- TSO-CC for any number of caches, against TSO-LB.
--
-- Models:  the protocol of tso-cc.m with two concrete caches and Other, which stands for all the
--          caches besides them. The method is that of C.-T. Chou, P. K. Mannava and S. Park, "A
--          simple method for parameterized verification of cache coherence protocols", FMCAD
--          2004; it was used for TSO-CC by C. Banks et al., FMCAD 2017. The conditions and
--          lemmas are our own.
-- Sizes:   CACHES (those that are concrete: 2, or 1 as said below), ADDRESSES (1 to 3), VALUES.
--          There may be any number of caches in what is verified.
-- Checks:  every value that a concrete cache reads is one that TSO-LB allows; every message is
--          expected where it arrives; copies in E, M and SRO are current; and the lemmas.
--
-- How it works. Nothing is known about Other: messages to and from it are not in the network. What
-- it does is a rule that can fire at any time, as far as its guard allows: the directory gets a
-- message from Other, a concrete cache gets data from Other, Other writes. Without guards that is
-- too much, and runs that no protocol has break the properties. So each rule of Other has a
-- condition may_...(Other, ...). The same condition is a lemma: whenever a concrete cache is about
-- to do the same, may_...(that cache, ...) is true. The lemmas are checked with everything else,
-- over the messages that are really under way. All caches are alike, so what a concrete cache
-- never does, no other cache does, and the guards leave out nothing.
--
-- For that, a condition of a cache o may speak of the directory, the global memory, o itself and
-- one more cache at a time, and of a message only if it is between two of these. With conditions
-- on three caches two concrete ones would not be enough. Four fields of the state are there
-- for the lemmas only: newcomer, former, giver and since.
--
-- Two addresses. Each condition is about one address, too, and only about what is known there: the
-- directory, lines, messages and the global memory at that address. What happens at an address
-- among others could happen at it alone: other addresses make a processor wait, which it may do
-- anyhow, and make it drop a shared line, which it may evict at any time. So if the lemmas hold
-- at one address, they hold at each of several; for that two concrete caches are needed. With
-- the lemmas known, whether a cache reads what it may is about that cache and all the others
-- together: one concrete cache is enough. So two runs are a proof for any number of caches and two
-- addresses, at a small part of the cost of one:
--
--            fencepost protocol any-number.m
--            fencepost protocol any-number.m --const CACHES=1 --const ADDRESSES=2
--
-- The second alone proves nothing: it cannot see what one cache does to another (mutants 5, 9, 13,
-- 20 and 21, among others). Both at once, two concrete caches and two addresses, is the same statement in one run, and has
-- some thousand times as many states.
--
-- Test:    crates/protocol/tests/projection finds every reachable state of tso-cc.m with three
--          caches and one address here, with the third cache as Other.
-- Words:   as in tso-cc.m with OTHER_WORDS: 1. A write miss is always followed by a hit here, if
--          the word of the model is written at all; together the two are the same.
-- MUTANT:  as in tso-cc.m. 1, 2, 3 and 26 need two addresses. 22 is not seen: nothing bad ever
--          happens, and whether something good does is not checked here, since what Other waits
--          for is not known.

const
  CACHES: 2;
  ADDRESSES: 1;
  VALUES: 2;
  CHECK: 0;                                  -- TSO-LB; nothing else here.
  MUTANT: 0;
  OVERLAP_EVICTIONS: 1;

  NETWORK: ADDRESSES * (2 * CACHES + 2);     -- Messages under way at most.
  -- VALUES to the power of ADDRESSES.
  MEMORIES: VALUES * (ADDRESSES > 1 ? VALUES : 1) * (ADDRESSES > 2 ? VALUES : 1);

type
  Cache: scalarset(CACHES);
  OtherCaches: enum {Other};                 -- Any cache that is not concrete.
  AnyCache: union {OtherCaches, Cache};
  DirectoryNode: enum {Directory};
  Node: union {DirectoryNode, OtherCaches, Cache};
  Address: scalarset(ADDRESSES);
  Value: scalarset(VALUES);
  Flag: 0..1;

  MessageType: enum {
    Ack, AckC, InvRO, AckRO,                 -- Unblock.
    DataS, DataX, Data,                      -- Response.
    GetS, GetX, PutE, FwdS, FwdX             -- Request.
  };
  Grant: enum {GrantE, GrantS, GrantSRO};

  Message: record
    mtype: MessageType;
    src: Node;
    dst: Node;
    addr: Address;
    val: Value;                              -- DataS, DataX, Data.
    grant: Grant;                            -- DataS.
    ack: Flag;                               -- DataX, AckC.
    requester: AnyCache;                     -- FwdS, FwdX.
  end;

  CacheState: enum {I, E, M, S, SRO, WS, WSROI, WX, WEI, WMI};
  Line: record
    state: CacheState;
    val: Value;

    -- For the lemmas only: nothing depends on these.
    giver: Node;                             -- The cache that the request was forwarded to.
    since: array [Value] of boolean;         -- WS, WSROI: values that were in the global memory
                                             -- at some time since then.
  end;

  DirectoryState: enum {DirI, DirU, DirE, DirS, DirSRO, WE1, WE2, WU1, WU2, WEn, DirWS};
  Entry: record
    state: DirectoryState;
    val: Value;
    owner: AnyCache;                         -- DirE; in WE1, WE2, WEn who will be it.
    sharer: AnyCache;                        -- DirWS: who gets the line from the owner.
    readers: array [Cache] of boolean;       -- DirSRO.
    other_reads: boolean;                    -- DirSRO: some other cache is a reader.
    unacked: array [Cache] of boolean;       -- WEn: readers that AckRO is awaited from.
    other_unacked: boolean;                  -- WEn: some other cache is such a reader.

    -- For the lemmas only: nothing depends on these.
    newcomer: AnyCache;                      -- WE1, WE2, WU1, WU2, WEn: whose AckC is awaited.
    former: AnyCache;                        -- WE2, WU2: the owner before. WE1, WU1: the owner
                                             -- before, if its PutE or Data is awaited.
  end;

var
  cache: array [Cache] of array [Address] of Line;
  directory: array [Address] of Entry;
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

function has_bug(n: 1..100): boolean;
begin
  return MUTANT = n;
end;

-- Sending. Fields that a message does not have are undefined.

procedure put_into_network(m: Message);
begin
  if m.src != Other & m.dst != Other then
    MultiSetAdd(m, network);
  end;
end;

procedure send(t: MessageType; from: Node; to_: Node; a: Address);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := from;
  m.dst := to_;
  m.addr := a;
  put_into_network(m);
end;

procedure send_data(from: Node; a: Address; v: Value);
var m: Message;
begin
  undefine m;
  m.mtype := Data;
  m.src := from;
  m.dst := Directory;
  m.addr := a;
  m.val := v;
  put_into_network(m);
end;

procedure send_data_s(from: Node; to_: Node; a: Address; v: Value; g: Grant);
var m: Message;
begin
  undefine m;
  m.mtype := DataS;
  m.src := from;
  m.dst := to_;
  m.addr := a;
  m.val := v;
  m.grant := g;
  put_into_network(m);
end;

procedure send_data_x(from: Node; to_: Node; a: Address; v: Value; n: Flag);
var m: Message;
begin
  undefine m;
  m.mtype := DataX;
  m.src := from;
  m.dst := to_;
  m.addr := a;
  m.val := v;
  m.ack := n;
  put_into_network(m);
end;

procedure send_ack_c(from: Node; a: Address; n: Flag);
var m: Message;
begin
  undefine m;
  m.mtype := AckC;
  m.src := from;
  m.dst := Directory;
  m.addr := a;
  m.ack := n;
  put_into_network(m);
end;

procedure forward(t: MessageType; to_: Node; a: Address; r: AnyCache);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := Directory;
  m.dst := to_;
  m.addr := a;
  m.requester := r;
  put_into_network(m);
  for p: Cache do
    if p = r then
      cache[p][a].giver := to_;
      if t = FwdS then
        for v: Value do cache[p][a].since[v] := v = global[a]; end;
      end;
    end;
  end;
end;

-- The cache: helpers.

function is_missing(p: Cache): boolean;
begin
  return exists a: Address do
    cache[p][a].state = WS | cache[p][a].state = WSROI | cache[p][a].state = WX
  end;
end;

function is_evicting(p: Cache): boolean;
begin
  return exists a: Address do cache[p][a].state = WEI | cache[p][a].state = WMI end;
end;

function may_access(p: Cache): boolean;
begin
  return !is_missing(p) & (OVERLAP_EVICTIONS = 1 | !is_evicting(p));
end;

function may_evict(p: Cache): boolean;
begin
  return OVERLAP_EVICTIONS = 1 | !is_missing(p) & !is_evicting(p);
end;

procedure drop(p: Cache; a: Address);
begin
  cache[p][a].state := I;
  undefine cache[p][a].val;
end;

procedure invalidate_other_shared(p: Cache; a: Address);
begin
  for b: Address do
    if b != a & cache[p][b].state = S then
      drop(p, b);
    end;
  end;
end;

procedure unexpected_at_cache(s: CacheState);
begin
  switch s
  case I:         error "a cache in I does not expect this message";
  case E:         error "a cache in E does not expect this message";
  case M:         error "a cache in M does not expect this message";
  case S:         error "a cache in S does not expect this message";
  case SRO:       error "a cache in SRO does not expect this message";
  case WS:        error "a cache in WS does not expect this message";
  case WSROI:     error "a cache in WSROI does not expect this message";
  case WX:        error "a cache in WX does not expect this message";
  case WEI:       error "a cache in WEI does not expect this message";
  case WMI:       error "a cache in WMI does not expect this message";
  end;
end;

-- The cache: what the processor does. The rules are below. A write miss only gets the line; the
-- write itself is a hit after it.

procedure read_hit(p: Cache; a: Address);
begin
  spec_read(p, a, cache[p][a].val);
end;

procedure read_miss(p: Cache; a: Address);
begin
  send(GetS, p, Directory, a);
  cache[p][a].state := WS;
  undefine cache[p][a].val;
  if has_bug(3) then invalidate_other_shared(p, a); end;
end;

-- For the lemmas only: a value is in the global memory now.
procedure note_written(a: Address; v: Value);
begin
  for q: Cache do
    if !isundefined(cache[q][a].since[v]) then cache[q][a].since[v] := true; end;
  end;
end;

procedure write_hit(p: Cache; a: Address; v: Value);
begin
  cache[p][a].val := v;
  if !has_bug(24) then cache[p][a].state := M; end;
  spec_write(p, a, v);
  note_written(a, v);
end;

procedure write_miss(p: Cache; a: Address);
begin
  send(GetX, p, Directory, a);
  cache[p][a].state := WX;
  undefine cache[p][a].val;
end;

procedure evict(p: Cache; a: Address);
begin
  alias line: cache[p][a] do
    switch line.state
    case S, SRO:
      drop(p, a);
    case E:
      send(PutE, p, Directory, a);
      line.state := WEI;
    case M:
      send_data(p, a, line.val);
      line.state := WMI;
    end;
  end;
end;

-- The cache: what messages do.

procedure cache_gets_inv_ro(p: Cache; a: Address);
begin
  send(AckRO, p, Directory, a);
  switch cache[p][a].state
  case SRO:
    if !has_bug(13) then drop(p, a); end;
  case WS:
    if !has_bug(14) then cache[p][a].state := WSROI; end;
  end;
end;

procedure cache_gets_fwd_s(p: Cache; a: Address; r: AnyCache);
begin
  alias line: cache[p][a] do
    switch line.state
    case E:
      send_data_s(p, r, a, line.val, GrantSRO);
      send_ack_c(p, a, 0);
      line.state := SRO;
    case M:
      if has_bug(18) then
        send_data_s(p, r, a, line.val, GrantSRO);
        send_ack_c(p, a, 0);
        line.state := SRO;
      else
        send_data_s(p, r, a, has_bug(5) ? directory[a].val : line.val, GrantS);
        send_data(p, a, line.val);
        if !has_bug(28) then line.state := S; end;
      end;
    case WEI:
      send_data_s(p, r, a, line.val, GrantSRO);
      drop(p, a);
    case WMI:
      send_data_s(p, r, a, line.val, GrantS);
      drop(p, a);
    else unexpected_at_cache(line.state);
    end;
  end;
end;

procedure cache_gets_fwd_x(p: Cache; a: Address; r: AnyCache);
begin
  alias line: cache[p][a] do
    switch line.state
    case E, M:
      send_data_x(p, r, a, has_bug(9) ? directory[a].val : line.val, has_bug(21) ? 0 : 1);
      line.state := has_bug(19) ? SRO : S;
    case WEI, WMI:
      send_data_x(p, r, a, line.val, has_bug(20) ? 1 : 0);
      drop(p, a);
    else unexpected_at_cache(line.state);
    end;
  end;
end;

procedure cache_gets_data_s(p: Cache; a: Address; v: Value; g: Grant);
begin
  alias line: cache[p][a] do
    if line.state != WS & line.state != WSROI then unexpected_at_cache(line.state); end;
    if !has_bug(1) & !has_bug(3) then invalidate_other_shared(p, a); end;
    undefine line.giver;
    undefine line.since;
    spec_read(p, a, v);
    line.val := v;
    switch g
    case GrantE:
      line.state := E;
      if !has_bug(23) then send_ack_c(p, a, 0); end;
    case GrantS:
      line.state := S;
    case GrantSRO:
      if line.state = WSROI then
        drop(p, a);
      else
        line.state := SRO;
      end;
    end;
  end;
end;

procedure cache_gets_data_x(p: Cache; a: Address; v: Value; n: Flag);
begin
  if cache[p][a].state != WX then unexpected_at_cache(cache[p][a].state); end;
  if !has_bug(2) then invalidate_other_shared(p, a); end;
  send_ack_c(p, a, n);
  undefine cache[p][a].giver;
  cache[p][a].state := M;
  cache[p][a].val := v;
end;

procedure cache_gets_ack(p: Cache; a: Address);
begin
  if cache[p][a].state != WEI & cache[p][a].state != WMI then
    unexpected_at_cache(cache[p][a].state);
  end;
  drop(p, a);
end;

procedure cache_receives(p: Cache; m: Message);
begin
  switch m.mtype
  case InvRO: cache_gets_inv_ro(p, m.addr);
  case FwdS:  cache_gets_fwd_s(p, m.addr, m.requester);
  case FwdX:  cache_gets_fwd_x(p, m.addr, m.requester);
  case DataS: cache_gets_data_s(p, m.addr, m.val, m.grant);
  case DataX: cache_gets_data_x(p, m.addr, m.val, m.ack);
  case Ack:   cache_gets_ack(p, m.addr);
  else error "this message is not for caches";
  end;
end;

-- The directory: helpers. A cache may be Other wherever it is AnyCache.

procedure unexpected_at_directory(s: DirectoryState);
begin
  switch s
  case DirI:      error "the directory in I does not expect this message";
  case DirU:      error "the directory in U does not expect this message";
  case DirE:      error "the directory in E does not expect this message";
  case DirS:      error "the directory in S does not expect this message";
  case DirSRO:    error "the directory in SRO does not expect this message";
  case DirWS:     error "the directory in WS does not expect this message";
  case WE1:       error "the directory in WE1 does not expect this message";
  case WE2:       error "the directory in WE2 does not expect this message";
  case WU1:       error "the directory in WU1 does not expect this message";
  case WU2:       error "the directory in WU2 does not expect this message";
  case WEn:       error "the directory in WEn does not expect this message";
  end;
end;

function is_stable(s: DirectoryState): boolean;
begin
  return s = DirI | s = DirU | s = DirE | s = DirS | s = DirSRO;
end;

-- Requests stay in the network while the directory waits for something else.
function is_stalled(m: Message): boolean;
begin
  return (m.mtype = GetS & !(has_bug(27) & directory[m.addr].state = WE1) | m.mtype = GetX)
    & !is_stable(directory[m.addr].state);
end;

function all_acked(a: Address): boolean;
begin
  return !directory[a].other_unacked & forall q: Cache do !directory[a].unacked[q] end;
end;

procedure note_reader(a: Address; r: AnyCache);
begin
  if r = Other then
    directory[a].other_reads := true;
  else
    for q: Cache do
      if q = r then directory[a].readers[q] := true; end;
    end;
  end;
end;

procedure nobody_comes(a: Address);
begin
  undefine directory[a].newcomer;
  undefine directory[a].former;
end;

procedure accept_eviction(m: Message; is_taken: boolean; after: DirectoryState);
begin
  alias d: directory[m.addr] do
    if m.mtype = Data & is_taken then d.val := m.val; end;
    if !has_bug(22) then send(Ack, Directory, m.src, m.addr); end;
    undefine d.owner;
    d.state := after;
  end;
end;

-- The directory: what messages do.

procedure directory_gets_get_s(a: Address; r: AnyCache);
begin
  alias d: directory[a] do
    switch d.state
    case DirI, DirU:
      send_data_s(Directory, r, a, d.val, GrantE);
      d.owner := r;
      d.newcomer := r;
      d.state := WE1;
    case DirE:
      forward(FwdS, d.owner, a, r);
      d.sharer := r;
      d.state := DirWS;
    case DirS:
      send_data_s(Directory, r, a, d.val, GrantS);
    case DirSRO:
      send_data_s(Directory, r, a, d.val, GrantSRO);
      if !has_bug(15) then note_reader(a, r); end;
    case WE1:
      -- Only mutant 27 does not stall here.
      forward(FwdS, d.owner, a, r);
      d.sharer := r;
      d.state := DirWS;
    else error "the directory stalls GetS in this state";
    end;
  end;
end;

procedure directory_gets_get_x(a: Address; r: AnyCache; others_read: boolean);
begin
  alias d: directory[a] do
    switch d.state
    case DirI, DirU, DirS:
      send_data_x(Directory, r, a, d.val, 0);
      d.owner := r;
      d.newcomer := r;
      d.state := WE1;
    case DirE:
      forward(FwdX, d.owner, a, r);
      d.former := d.owner;
      d.owner := r;
      d.newcomer := r;
      d.state := WE2;
    case DirSRO:
      for q: Cache do
        if d.readers[q] & q != r & !has_bug(11) then
          send(InvRO, Directory, q, a);
          d.unacked[q] := !has_bug(12);
        end;
        d.readers[q] := false;
      end;
      d.other_unacked := others_read & !has_bug(11) & !has_bug(12);
      d.other_reads := false;
      d.owner := r;
      d.newcomer := r;
      if all_acked(a) then
        send_data_x(Directory, r, a, d.val, 0);
        d.state := WE1;
      else
        d.state := WEn;
      end;
    else error "the directory stalls GetX in this state";
    end;
  end;
end;

-- An owner sends PutE or Data when it evicts a line, and Data when it becomes a sharer.
procedure directory_gets_put_e_or_data(m: Message; is_from_owner: boolean);
begin
  alias d: directory[m.addr] do
    switch d.state
    case DirE:
      if !is_from_owner then unexpected_at_directory(d.state); end;
      accept_eviction(m, !has_bug(6), DirU);
    case WE1:
      if is_from_owner then
        accept_eviction(m, !has_bug(7), WU1);
      else
        d.state := DirE;
        nobody_comes(m.addr);
      end;
    case WE2:
      if is_from_owner then
        accept_eviction(m, !has_bug(8), WU2);
      else
        d.state := WE1;
        undefine d.former;
      end;
    case WU1:
      if has_bug(10) & m.mtype = Data then d.val := m.val; end;
      d.state := DirU;
      nobody_comes(m.addr);
    case WU2:
      if has_bug(10) & m.mtype = Data then d.val := m.val; end;
      d.state := WU1;
      undefine d.former;
    case DirWS:
      if !is_from_owner then unexpected_at_directory(d.state); end;
      if m.mtype = Data then
        if !has_bug(4) then d.val := m.val; end;
        d.state := DirS;
      else
        if !has_bug(17) then note_reader(m.addr, d.sharer); end;
        d.state := DirSRO;
      end;
      undefine d.sharer;
      undefine d.owner;
    else unexpected_at_directory(d.state);
    end;
  end;
end;

procedure directory_gets_ack_c(a: Address; r: AnyCache; n: Flag);
begin
  alias d: directory[a] do
    switch d.state
    case WE1:
      if d.owner != r then unexpected_at_directory(d.state); end;
      d.state := DirE;
      nobody_comes(a);
    case WE2:
      if d.owner != r then unexpected_at_directory(d.state); end;
      d.state := n = 1 ? DirE : WE1;
      if n = 1 then nobody_comes(a); else undefine d.newcomer; end;
    case WU1:
      d.state := DirU;
      nobody_comes(a);
    case WU2:
      d.state := n = 1 ? DirU : WU1;
      if n = 1 then nobody_comes(a); else undefine d.newcomer; end;
    case DirWS:
      if d.owner != r then unexpected_at_directory(d.state); end;
      note_reader(a, d.sharer);
      if !has_bug(16) then note_reader(a, r); end;
      undefine d.sharer;
      undefine d.owner;
      d.state := DirSRO;
    else unexpected_at_directory(d.state);
    end;
  end;
end;

procedure directory_gets_ack_ro(a: Address; r: AnyCache);
begin
  alias d: directory[a] do
    switch d.state
    case WEn:
      if r = Other then
        d.other_unacked := false;
      else
        for q: Cache do
          if q = r then
            if !d.unacked[q] & !has_bug(12) then unexpected_at_directory(d.state); end;
            d.unacked[q] := false;
          end;
        end;
      end;
      if all_acked(a) then
        send_data_x(Directory, d.owner, a, d.val, 0);
        d.state := WE1;
      end;
    else
      if !has_bug(12) then unexpected_at_directory(d.state); end;
    end;
  end;
end;

procedure directory_receives(m: Message);
begin
  switch m.mtype
  case GetS:       directory_gets_get_s(m.addr, m.src);
  case GetX:       directory_gets_get_x(m.addr, m.src, directory[m.addr].other_reads);
  case PutE, Data: directory_gets_put_e_or_data(m, m.src = directory[m.addr].owner);
  case AckC:       directory_gets_ack_c(m.addr, m.src, m.ack);
  case AckRO:      directory_gets_ack_ro(m.addr, m.src);
  else error "this message is not for the directory";
  end;
end;

-- Conditions under which a cache does something that others see. Each is a lemma about every
-- concrete cache (below), and so it may be the guard of what other caches do.

function count_from(t: MessageType; p: Cache; a: Address): 0..NETWORK;
begin
  return MultiSetCount(i: network,
    network[i].mtype = t & network[i].src = p & network[i].addr = a);
end;

function count_between(t: MessageType; o: Cache; p: Cache; a: Address): 0..NETWORK;
begin
  return MultiSetCount(i: network,
    network[i].mtype = t & network[i].src = o & network[i].dst = p & network[i].addr = a);
end;

function owns_or_evicts(p: Cache; a: Address): boolean;
begin
  return cache[p][a].state = E | cache[p][a].state = M
    | cache[p][a].state = WEI | cache[p][a].state = WMI;
end;

function can_write(p: Cache; a: Address): boolean;
begin
  return cache[p][a].state = E | cache[p][a].state = M;
end;

-- The cache has a copy that no other may write, or will have it from the directory.
function can_rely(p: Cache; a: Address): boolean;
begin
  return cache[p][a].state = SRO
    | cache[p][a].state = WS
      & MultiSetCount(i: network, network[i].mtype = DataS & network[i].src = Directory
          & network[i].dst = p & network[i].addr = a & network[i].grant != GrantS) > 0;
end;

function may_write(o: AnyCache; a: Address): boolean;
begin
  alias d: directory[a] do
    return
      (d.owner = o & (d.state = DirE | d.state = WE1 | d.state = WE2 | d.state = DirWS)
        | d.former = o & d.state = WE2)
      & forall q: Cache do
          q = o
          | !can_write(q, a) & !can_rely(q, a)
            & (d.former = o & d.owner = q -> cache[q][a].state = WX)
            & (d.former = q -> !owns_or_evicts(q, a))
        end;
  end;
end;

function may_put_as_owner(o: AnyCache; a: Address): boolean;
begin
  alias d: directory[a] do
    return d.owner = o & (d.state = DirE | d.state = WE1 | d.state = WE2 | d.state = DirWS)
      & forall q: Cache do
          q != o -> !can_write(q, a) & (d.former = q -> !owns_or_evicts(q, a))
        end;
  end;
end;

function may_send_owned_data(o: AnyCache; a: Address; v: Value): boolean;
begin
  return may_put_as_owner(o, a) & v = global[a]
    & (directory[a].state = DirWS ->
        forall q: Cache do q = o | !can_rely(q, a) end);
end;

function may_put_e(o: AnyCache; a: Address): boolean;
begin
  return may_put_as_owner(o, a) & directory[a].state != WE2 & directory[a].val = global[a];
end;

function may_put_as_former(o: AnyCache; a: Address): boolean;
begin
  alias d: directory[a] do
    return d.former = o & (d.state = WE1 | d.state = WE2 | d.state = WU1 | d.state = WU2)
      & MultiSetCount(i: network, network[i].mtype = AckC & network[i].addr = a
          & network[i].ack = 1) = 0;
  end;
end;

function may_ack_c(o: AnyCache; a: Address; n: Flag): boolean;
begin
  alias d: directory[a] do
    switch d.state
    case DirWS:
      return d.owner = o & n = 0 & d.val = global[a];
    case WE1, WU1:
      return d.newcomer = o & n = 0;
    case WE2, WU2:
      return d.newcomer = o
        & forall q: Cache do
            d.former = q ->
              !owns_or_evicts(q, a)
              & count_from(PutE, q, a) + count_from(Data, q, a) = 1 - n
          end;
    else
      return false;
    end;
  end;
end;

function may_ack_ro(o: AnyCache; a: Address): boolean;
begin
  return directory[a].state = WEn
    & (o = Other ? directory[a].other_unacked
        : exists q: Cache do q = o & directory[a].unacked[q] end);
end;

function may_send_data_s(o: AnyCache; p: Cache; a: Address; v: Value; g: Grant): boolean;
begin
  alias d: directory[a]; line: cache[p][a] do
    return line.giver = o & (line.state = WS | line.state = WSROI) & g != GrantE
      & line.since[v]
      & (g = GrantSRO & line.state = WS ->
          v = global[a]
          & (d.state = DirWS & d.sharer = p & d.owner = o
              | d.state = DirSRO & d.readers[p] | d.state = WEn & d.unacked[p]));
  end;
end;

function may_send_data_x(o: AnyCache; p: Cache; a: Address; v: Value; n: Flag): boolean;
begin
  alias d: directory[a]; line: cache[p][a] do
    return line.giver = o & line.state = WX & d.newcomer = p & v = global[a]
      & (d.state = WE2 & d.former = o | d.state = WE1 & n = 0);
  end;
end;

-- What the concrete caches and the directory do.

ruleset v: Value do
  startstate "no cache has a line"
  var m: Memory;
  begin
    for a: Address do
      undefine directory[a];
      directory[a].state := DirI;
      directory[a].val := v;
      for p: Cache do
        undefine cache[p][a];
        drop(p, a);
        directory[a].readers[p] := false;
        directory[a].unacked[p] := false;
      end;
      directory[a].other_reads := false;
      directory[a].other_unacked := false;
      m[a] := v;
    end;
    undefine network;
    assert 0 <= MUTANT & MUTANT <= 28 & CHECK = 0 "there are 28 mutants and one check";
    spec_start(m);
  end;
end;

ruleset p: Cache; a: Address do
  alias state: cache[p][a].state do
    rule "read hit"
      (may_access(p) | has_bug(26)) & (state = E | state = M | state = S | state = SRO)
    ==>
      read_hit(p, a);
    end;

    -- A hit in S is allowed for a number of times only, so at any time it may be a miss.
    rule "read miss" may_access(p) & (state = I | state = S) ==>
      read_miss(p, a);
    end;

    ruleset v: Value do
      rule "write hit" may_access(p) & (state = E | state = M | has_bug(25) & state = S) ==>
        write_hit(p, a, v);
      end;
    end;

    rule "write miss" may_access(p) & (state = I | state = S | state = SRO) ==>
      write_miss(p, a);
    end;

    rule "evict" may_evict(p) & (state = S | state = SRO | state = E | state = M) ==>
      evict(p, a);
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


-- What other caches do.

ruleset a: Address do
  ruleset v: Value do
    rule "another cache writes" may_write(Other, a) ==>
      global[a] := v;
      for q: Cache do insert(global, possible[q]); end;
      note_written(a, v);
    end;
  end;

  rule "another cache sends GetS" is_stable(directory[a].state) ==>
    directory_gets_get_s(a, Other);
  end;

  ruleset others_read: boolean do
    rule "another cache sends GetX"
      is_stable(directory[a].state) & (others_read -> directory[a].other_reads)
    ==>
      directory_gets_get_x(a, Other, others_read);
    end;
  end;

  rule "the owner is another cache and sends PutE" may_put_e(Other, a) ==>
  var m: Message;
  begin
    undefine m;
    m.mtype := PutE;
    m.src := Other;
    m.addr := a;
    directory_gets_put_e_or_data(m, true);
  end;

  ruleset v: Value do
    rule "the owner is another cache and sends Data" may_send_owned_data(Other, a, v) ==>
    var m: Message;
    begin
      undefine m;
      m.mtype := Data;
      m.src := Other;
      m.addr := a;
      m.val := v;
      directory_gets_put_e_or_data(m, true);
    end;
  end;

  ruleset v: Value do
    rule "the owner before is another cache and sends Data or PutE" may_put_as_former(Other, a) ==>
    var m: Message;
    begin
      undefine m;
      m.mtype := Data;
      m.src := Other;
      m.addr := a;
      m.val := v;
      directory_gets_put_e_or_data(m, false);
    end;
  end;

  ruleset n: Flag do
    rule "another cache sends AckC" may_ack_c(Other, a, n) ==>
      directory_gets_ack_c(a, Other, n);
    end;
  end;

  rule "the last other reader sends AckRO" may_ack_ro(Other, a) ==>
    directory_gets_ack_ro(a, Other);
  end;

  ruleset p: Cache; v: Value do
    ruleset g: Grant do
      rule "another cache sends DataS" may_send_data_s(Other, p, a, v, g) ==>
        cache_gets_data_s(p, a, v, g);
      end;
    end;

    ruleset n: Flag do
      rule "another cache sends DataX" may_send_data_x(Other, p, a, v, n) ==>
        cache_gets_data_x(p, a, v, n);
      end;
    end;
  end;
end;

-- Non-interference lemmas: the guards above are true whenever a concrete cache does the same.

ruleset o: Cache; a: Address do
  invariant "lemma: who can write, may"
    can_write(o, a) -> may_write(o, a);

  invariant "lemma: the owner sends its data"
    count_from(Data, o, a) > 0 & directory[a].owner = o ->
      MultiSetCount(i: network, network[i].mtype = Data & network[i].src = o
        & network[i].addr = a & !may_send_owned_data(o, a, network[i].val)) = 0;

  invariant "lemma: the owner sends PutE"
    count_from(PutE, o, a) > 0 & directory[a].owner = o -> may_put_e(o, a);

  invariant "lemma: the owner before sends PutE or Data"
    count_from(PutE, o, a) + count_from(Data, o, a) > 0 & directory[a].owner != o ->
      may_put_as_former(o, a);

  invariant "lemma: AckC"
    count_from(AckC, o, a) > 0 ->
      MultiSetCount(i: network, network[i].mtype = AckC & network[i].src = o
        & network[i].addr = a & !may_ack_c(o, a, network[i].ack)) = 0;

  invariant "lemma: AckRO"
    count_from(AckRO, o, a) > 0 -> may_ack_ro(o, a);

  ruleset p: Cache do
    invariant "lemma: DataS from a cache"
      count_between(DataS, o, p, a) > 0 ->
        count_between(DataS, o, p, a) = 1
        & MultiSetCount(i: network, network[i].mtype = DataS & network[i].src = o
            & network[i].dst = p & network[i].addr = a
            & !may_send_data_s(o, p, a, network[i].val, network[i].grant)) = 0;

    invariant "lemma: DataX from a cache"
      count_between(DataX, o, p, a) > 0 ->
        count_between(DataX, o, p, a) = 1
        & MultiSetCount(i: network, network[i].mtype = DataX & network[i].src = o
            & network[i].dst = p & network[i].addr = a
            & !may_send_data_x(o, p, a, network[i].val, network[i].ack)) = 0;
  end;
end;

-- Properties, besides that every value read is allowed and that no message is unexpected.

invariant "a copy in E, M or SRO is current"
  forall p: Cache do forall a: Address do
    cache[p][a].state = E | cache[p][a].state = M | cache[p][a].state = SRO ->
      cache[p][a].val = global[a]
  end end;

invariant "the directory is current when no cache owns the line"
  forall a: Address do
    directory[a].state = DirI | directory[a].state = DirU | directory[a].state = DirS
      | directory[a].state = DirSRO | directory[a].state = WEn ->
      directory[a].val = global[a]
  end;
