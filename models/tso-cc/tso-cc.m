-- TSO-CC, a lazy cache coherence protocol, against the memory model that it is made for.
--
-- Models:  the basic protocol, without timestamps, of M. Elver and V. Nagarajan, "TSO-CC:
--          consistency directed cache coherence for TSO", HPCA 2014, as far as it can be
--          reconstructed from that paper and from C. Banks, M. Elver, R. Hoffmann, S. Sarkar,
--          P. Jackson and V. Nagarajan, "Verification of a lazy cache coherence protocol against
--          a weak memory model", FMCAD 2017. The text is our own.
-- Sizes:   CACHES, ADDRESSES (1 to 3), VALUES.
-- Network: one multiset. Messages overtake each other freely. The virtual channels of the paper
--          serve some messages first; every run with them is a run without them.
-- Order:   a processor waits for its own misses. Misses of different processors overlap, and so
--          do evictions with everything (OVERLAP_EVICTIONS: 1) or with nothing of their own
--          processor (0). With STORE_BUFFER: 1 a processor does not wait for its writes (below).
-- Words:   a line has more words than the one that is modelled. A write miss may be due to
--          another word; then the word of the model keeps the value that came with the line
--          (OTHER_WORDS: 1). With OTHER_WORDS: 0 the data of DataX is never looked at.
-- Checks:  every value that is read is one that the specification allows (CHECK below), every
--          message is expected where it arrives, and nothing waits without something on its way.
--
-- CHECK:   0  TSO-LB, exactly: the sets of local buffers that each processor could have.
--          1  TSO-LB with the witness of the paper: read, or else propagate and read. It is
--             wrong here: it refuses runs that TSO-LB has.
--          2  sequential consistency, as TSO-LB whose writes propagate. The protocol is lazier.
--          3  atomic memory: a read returns what was written last. The protocol is lazier.
--          4  store buffering, a litmus test. Each processor writes a new value once, no two to
--             the same address: p to x, q to y. It is an error if p then reads the old y, and q
--             the old x. No sequentially consistent run has these four: x is written only once,
--             so q read it before p wrote it, p wrote before it read y, it read y before q wrote
--             it, and q wrote before it read x: a cycle. Whatever else they do does not matter:
--             they read, evict, and write other words as they like.
--          5  sequential consistency in another order than 2: what a processor does between two
--             acquisitions, it does at once, at the first of them. An acquisition is when a line
--             is sent to a reader (DataS), or comes to a writer (DataX). If the owner evicts the
--             line, the directory may have it before the owner sends it to the reader; then that
--             is the acquisition. Each read has to return the last write before it in this order.
--             So all runs that pass are sequentially consistent. For STORE_BUFFER: 0.
--
-- STORE_BUFFER: with 1 each processor has a store buffer with one entry, as x86 processors have
--          longer ones. A write that misses waits there until DataX comes, and later reads go on
--          to other addresses, one miss at a time. Reads of the address that is written return
--          the value in the buffer; nothing is to be checked about them, and they are left out.
--          Its value is chosen when DataX comes, as without. A write that hits is performed
--          at once. So reads and a write of one processor miss at the same time, which the
--          tables of the protocol do not speak of: shared data that is on its way when DataX
--          comes may be older than what came with DataX. It is read once and not kept (WSI).
--          With 2 it is kept. That is a bug: TSO-LB does not hold.
--
-- MUTANT:  a number puts one bug in; each is marked with has_bug(n) where it is.
--           1  a read miss invalidates no shared lines
--           2  a write miss invalidates no shared lines
--           3  shared lines are invalidated when the request is sent, not when the data arrives
--           4  the directory drops the data of an owner that becomes a sharer
--           5  an owner with a modified line forwards a value that is not its own
--           6  the directory drops the data of an evicted line (in DirE)
--           7  the directory drops the data of an evicted line (in WE1)
--           8  the directory drops the data of an evicted line (in WE2)
--           9  an owner gives a modified line away without its data (FwdX)
--          10  the directory writes an old owner's data over the new one's (in WU1, WU2)
--          11  the directory gives a read-only line to a writer without InvRO
--          12  the directory does not await AckRO
--          13  a cache acknowledges InvRO and keeps its copy
--          14  a cache that waits for a shared line forgets that InvRO came
--          15  the directory does not note a reader of a read-only line (GetS in DirSRO)
--          16  the directory does not note that the former owner reads on (AckC in DirWS)
--          17  the directory does not note the reader when the owner evicted (PutE in DirWS)
--          18  an owner with a modified line shares it as read-only
--          19  an owner that gives its line away keeps its copy as read-only
--          20  an owner that evicts gives its line away and says it is still there (DataX(1))
--          21  an owner that gives its line away says that it evicts it (DataX(0))
--          22  the directory does not acknowledge an eviction
--          23  a reader that gets a line in E does not tell the directory
--          24  a write to a line in E leaves it in E
--          25  a write to a shared line does not ask for it
--          26  a processor reads while an earlier read of its own is under way
--          27  the directory serves GetS while it waits for the new owner (in WE1)
--          28  a cache in M that gets FwdS stays in M

const
  CACHES: 2;
  ADDRESSES: 1;
  VALUES: 2;
  CHECK: 0;
  MUTANT: 0;
  OTHER_WORDS: 1;
  OVERLAP_EVICTIONS: 1;
  STORE_BUFFER: 0;

  NETWORK: ADDRESSES * (2 * CACHES + 2);     -- Messages under way at most.
  -- VALUES to the power of ADDRESSES.
  MEMORIES: VALUES * (ADDRESSES > 1 ? VALUES : 1) * (ADDRESSES > 2 ? VALUES : 1);

type
  Cache: scalarset(CACHES);
  DirectoryNode: enum {Directory};
  Node: union {DirectoryNode, Cache};
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
    requester: Cache;                        -- FwdS, FwdX.
  end;

  CacheState: enum {I, E, M, S, SRO, WS, WSROI, WX, WEI, WMI, WSI};
  Line: record
    state: CacheState;
    val: Value;
  end;

  DirectoryState: enum {DirI, DirU, DirE, DirS, DirSRO, WE1, WE2, WU1, WU2, WEn, DirWS};
  Entry: record
    state: DirectoryState;
    val: Value;
    owner: Cache;                            -- DirE; in WE1, WE2, WEn who will be it.
    sharer: Cache;                           -- DirWS: who gets the line from the owner.
    readers: array [Cache] of boolean;       -- DirSRO.
    unacked: array [Cache] of boolean;       -- WEn: readers that AckRO is awaited from.
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

-- CHECK 4: store buffering. The header says why no sequentially consistent run has it. Here the
-- global memory of the specification keeps the old values.

var
  written: array [Cache] of Address;             -- The one write of each processor, when performed.
  reads_old: array [Cache] of array [Address] of boolean;      -- Later in its program.

-- A write miss may be due to another word. If there is none, it has to be a write of the test.
function may_test(p: Cache; a: Address): boolean;
begin
  return isundefined(written[p])
    & forall q: Cache do
        (isundefined(written[q]) | written[q] != a)
        & (OTHER_WORDS = 1 | q = p | cache[q][a].state != WX)
      end;
end;

function may_write_miss(p: Cache; a: Address): boolean;
begin
  return CHECK != 4 | OTHER_WORDS = 1 | may_test(p, a);
end;

function may_write_value(p: Cache; a: Address; v: Value): boolean;
begin
  return CHECK != 4 | v != global[a] & may_test(p, a);
end;

function is_store_buffering(): boolean;
begin
  return CHECK = 4
    & exists p: Cache do exists q: Cache do
        p != q & !isundefined(written[p]) & !isundefined(written[q])
        & !isundefined(reads_old[p][written[q]]) & !isundefined(reads_old[q][written[p]])
      end end;
end;

-- A write that is still in the store buffer comes first in the program, too.
procedure test_reads(p: Cache; a: Address; v: Value);
begin
  if v = global[a]
    & exists b: Address do
        b != a & (cache[p][b].state = WX | !isundefined(written[p]) & written[p] = b)
      end
  then
    reads_old[p][a] := true;
  end;
end;

-- So the write that was waited for was none of the test.
procedure test_writes_another_word(p: Cache);
begin
  if isundefined(written[p]) then undefine reads_old[p]; end;
end;

-- CHECK 5: sequential consistency in the order of the header. The witness of a processor is the
-- memory at its last acquisition in that order, as far as it is known: it changes when somebody who
-- comes before writes.

var
  is_before: array [Cache] of array [Cache] of boolean;        -- By their last acquisitions.
  is_used_later: array [Cache] of array [Address] of boolean;  -- By somebody who comes later.

procedure order_starts();
begin
  for p: Cache do
    for q: Cache do is_before[p][q] := false; end;
    for a: Address do is_used_later[p][a] := false; end;
    witness[p] := global;
  end;
end;

procedure acquires(p: Cache);
begin
  if CHECK = 5 then
    for q: Cache do
      is_before[q][p] := q != p;
      is_before[p][q] := false;
    end;
    for a: Address do is_used_later[p][a] := false; end;
    witness[p] := global;
  end;
end;

procedure order_uses(p: Cache; a: Address);
begin
  for q: Cache do
    if is_before[q][p] then is_used_later[q][a] := true; end;
  end;
end;

procedure order_writes(p: Cache; a: Address; v: Value);
begin
  if is_used_later[p][a] then
    error "in the order of acquisitions a write is too late";
  end;
  global[a] := v;
  for q: Cache do
    if q = p | is_before[p][q] then witness[q][a] := v; end;
  end;
  order_uses(p, a);
end;

procedure order_reads(p: Cache; a: Address; v: Value);
begin
  if witness[p][a] != v then
    error "in the order of acquisitions a read returns another value";
  end;
  order_uses(p, a);
end;

-- The owner evicted the line before it got FwdS. It will send the line to the reader all the same,
-- but somebody else may have written it by then.
function is_forwarding(a: Address; r: Cache): boolean;
begin
  return CHECK = 5
    & MultiSetCount(i: network,
        network[i].mtype = FwdS & network[i].addr = a & network[i].requester = r) > 0;
end;

-- What the protocol tells to whatever is checked.

procedure start(m: Memory);
begin
  assert 0 <= MUTANT & MUTANT <= 28 & 0 <= CHECK & CHECK <= 5 "there are 28 mutants and 6 checks";
  assert CHECK != 5 | STORE_BUFFER = 0 "CHECK 5 is for processors without store buffers";
  spec_start(m);
  if CHECK = 5 then order_starts(); end;
end;

procedure writes(p: Cache; a: Address; v: Value);
begin
  switch CHECK
  case 4: written[p] := a;
  case 5: order_writes(p, a, v);
  else    spec_write(p, a, v);
  end;
end;

procedure writes_another_word(p: Cache);
begin
  if CHECK = 4 then test_writes_another_word(p); end;
end;

procedure reads(p: Cache; a: Address; v: Value);
begin
  switch CHECK
  case 4: test_reads(p, a, v);
  case 5: order_reads(p, a, v);
  else    spec_read(p, a, v);
  end;
end;

function has_bug(n: 1..100): boolean;
begin
  return MUTANT = n;
end;

-- Sending. Fields that a message does not have are undefined.

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

procedure send_data(from: Node; a: Address; v: Value);
var m: Message;
begin
  undefine m;
  m.mtype := Data;
  m.src := from;
  m.dst := Directory;
  m.addr := a;
  m.val := v;
  MultiSetAdd(m, network);
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
  MultiSetAdd(m, network);
  if from = Directory | directory[a].state = DirWS & directory[a].sharer = to_ then
    acquires(to_);
  end;
end;

procedure send_data_x(from: Node; to_: Node; a: Address; v: Value; n: Flag);
var m: Message;
begin
  undefine m;
  m.mtype := DataX;
  m.src := from;
  m.dst := to_;
  m.addr := a;
  if OTHER_WORDS = 1 then m.val := v; end;
  m.ack := n;
  MultiSetAdd(m, network);
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

-- The cache: helpers.

function is_missing_read(p: Cache): boolean;
begin
  return exists a: Address do
    cache[p][a].state = WS | cache[p][a].state = WSROI | cache[p][a].state = WSI
  end;
end;

function is_missing_write(p: Cache): boolean;
begin
  return exists a: Address do cache[p][a].state = WX end;
end;

function is_missing(p: Cache): boolean;
begin
  return is_missing_read(p) | is_missing_write(p);
end;

function is_evicting(p: Cache): boolean;
begin
  return exists a: Address do cache[p][a].state = WEI | cache[p][a].state = WMI end;
end;

function may_write(p: Cache): boolean;
begin
  return !is_missing(p) & (OVERLAP_EVICTIONS = 1 | !is_evicting(p));
end;

-- A write that waits in the store buffer lets reads go on. The line that it waits for is in WX.
function may_read(p: Cache): boolean;
begin
  return !is_missing_read(p) & (STORE_BUFFER > 0 | !is_missing_write(p))
    & (OVERLAP_EVICTIONS = 1 | !is_evicting(p));
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
    if STORE_BUFFER = 1 & b != a & (cache[p][b].state = WS | cache[p][b].state = WSROI) then
      cache[p][b].state := WSI;
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
  case WSI:       error "a cache in WSI does not expect this message";
  case WX:        error "a cache in WX does not expect this message";
  case WEI:       error "a cache in WEI does not expect this message";
  case WMI:       error "a cache in WMI does not expect this message";
  end;
end;

-- The cache: what the processor does. The rules are below; a write miss is performed when DataX
-- arrives, and its value is chosen then, since nobody sees it before.

procedure read_hit(p: Cache; a: Address);
begin
  reads(p, a, cache[p][a].val);
end;

procedure read_miss(p: Cache; a: Address);
begin
  send(GetS, p, Directory, a);
  cache[p][a].state := WS;
  undefine cache[p][a].val;
  if has_bug(3) then invalidate_other_shared(p, a); end;
end;

procedure write_hit(p: Cache; a: Address; v: Value);
begin
  cache[p][a].val := v;
  if !has_bug(24) then cache[p][a].state := M; end;
  writes(p, a, v);
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

procedure cache_gets_fwd_s(p: Cache; a: Address; r: Cache);
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

procedure cache_gets_fwd_x(p: Cache; a: Address; r: Cache);
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
    if line.state != WS & line.state != WSROI & line.state != WSI then
      unexpected_at_cache(line.state);
    end;
    if !has_bug(1) & !has_bug(3) then invalidate_other_shared(p, a); end;
    reads(p, a, v);
    line.val := v;
    switch g
    case GrantE:
      line.state := E;
      if !has_bug(23) then send_ack_c(p, a, 0); end;
    case GrantS:
      if line.state = WSI then
        drop(p, a);
      else
        line.state := S;
      end;
    case GrantSRO:
      if line.state = WSROI | line.state = WSI then
        drop(p, a);
      else
        line.state := SRO;
      end;
    end;
  end;
end;

-- The write itself is done by the caller.
procedure cache_gets_data_x(p: Cache; a: Address; n: Flag);
begin
  if cache[p][a].state != WX then unexpected_at_cache(cache[p][a].state); end;
  if !has_bug(2) then invalidate_other_shared(p, a); end;
  send_ack_c(p, a, n);
  cache[p][a].state := M;
  acquires(p);
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
  case Ack:   cache_gets_ack(p, m.addr);
  else error "this message is not for caches";
  end;
end;

-- The directory: helpers.

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
  return forall q: Cache do !directory[a].unacked[q] end;
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

procedure directory_gets_get_s(a: Address; r: Cache);
begin
  alias d: directory[a] do
    switch d.state
    case DirI, DirU:
      send_data_s(Directory, r, a, d.val, GrantE);
      d.owner := r;
      d.state := WE1;
    case DirE:
      forward(FwdS, d.owner, a, r);
      d.sharer := r;
      d.state := DirWS;
    case DirS:
      send_data_s(Directory, r, a, d.val, GrantS);
    case DirSRO:
      send_data_s(Directory, r, a, d.val, GrantSRO);
      if !has_bug(15) then d.readers[r] := true; end;
    case WE1:
      -- Only mutant 27 does not stall here.
      forward(FwdS, d.owner, a, r);
      d.sharer := r;
      d.state := DirWS;
    else error "the directory stalls GetS in this state";
    end;
  end;
end;

procedure directory_gets_get_x(a: Address; r: Cache);
begin
  alias d: directory[a] do
    switch d.state
    case DirI, DirU, DirS:
      send_data_x(Directory, r, a, d.val, 0);
      d.owner := r;
      d.state := WE1;
    case DirE:
      forward(FwdX, d.owner, a, r);
      d.owner := r;
      d.state := WE2;
    case DirSRO:
      for q: Cache do
        if d.readers[q] & q != r & !has_bug(11) then
          send(InvRO, Directory, q, a);
          d.unacked[q] := !has_bug(12);
        end;
        d.readers[q] := false;
      end;
      d.owner := r;
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
procedure directory_gets_put_e_or_data(m: Message);
var is_from_owner: boolean;
begin
  alias d: directory[m.addr] do
    is_from_owner := m.src = d.owner;
    switch d.state
    case DirE:
      if !is_from_owner then unexpected_at_directory(d.state); end;
      accept_eviction(m, !has_bug(6), DirU);
    case WE1:
      if is_from_owner then
        accept_eviction(m, !has_bug(7), WU1);
      else
        d.state := DirE;
      end;
    case WE2:
      if is_from_owner then
        accept_eviction(m, !has_bug(8), WU2);
      else
        d.state := WE1;
      end;
    case WU1:
      if has_bug(10) & m.mtype = Data then d.val := m.val; end;
      d.state := DirU;
    case WU2:
      if has_bug(10) & m.mtype = Data then d.val := m.val; end;
      d.state := WU1;
    case DirWS:
      if !is_from_owner then unexpected_at_directory(d.state); end;
      if is_forwarding(m.addr, d.sharer) then acquires(d.sharer); end;
      if m.mtype = Data then
        if !has_bug(4) then d.val := m.val; end;
        d.state := DirS;
      else
        if !has_bug(17) then d.readers[d.sharer] := true; end;
        d.state := DirSRO;
      end;
      undefine d.sharer;
      undefine d.owner;
    else unexpected_at_directory(d.state);
    end;
  end;
end;

procedure directory_gets_ack_c(a: Address; r: Cache; n: Flag);
begin
  alias d: directory[a] do
    switch d.state
    case WE1:
      if d.owner != r then unexpected_at_directory(d.state); end;
      d.state := DirE;
    case WE2:
      if d.owner != r then unexpected_at_directory(d.state); end;
      d.state := n = 1 ? DirE : WE1;
    case WU1:
      d.state := DirU;
    case WU2:
      d.state := n = 1 ? DirU : WU1;
    case DirWS:
      if d.owner != r then unexpected_at_directory(d.state); end;
      d.readers[d.sharer] := true;
      if !has_bug(16) then d.readers[r] := true; end;
      undefine d.sharer;
      undefine d.owner;
      d.state := DirSRO;
    else unexpected_at_directory(d.state);
    end;
  end;
end;

procedure directory_gets_ack_ro(a: Address; r: Cache);
begin
  alias d: directory[a] do
    switch d.state
    case WEn:
      if !d.unacked[r] & !has_bug(12) then unexpected_at_directory(d.state); end;
      d.unacked[r] := false;
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
  case GetX:       directory_gets_get_x(m.addr, m.src);
  case PutE, Data: directory_gets_put_e_or_data(m);
  case AckC:       directory_gets_ack_c(m.addr, m.src, m.ack);
  case AckRO:      directory_gets_ack_ro(m.addr, m.src);
  else error "this message is not for the directory";
  end;
end;

function is_settled(a: Address): boolean;
begin
  return is_stable(directory[a].state)
    & forall p: Cache do
        cache[p][a].state = I | cache[p][a].state = E | cache[p][a].state = M
        | cache[p][a].state = S | cache[p][a].state = SRO
      end;
end;

function is_global_possible(): boolean;
begin
  return CHECK != 0
    | forall p: Cache do MultiSetCount(i: possible[p], is_same(possible[p][i], global)) = 1 end;
end;

-- The rules.

ruleset v: Value do
  startstate "no cache has a line"
  var m: Memory;
  begin
    for a: Address do
      undefine directory[a];
      directory[a].state := DirI;
      directory[a].val := v;
      for p: Cache do
        drop(p, a);
        directory[a].readers[p] := false;
        directory[a].unacked[p] := false;
      end;
      m[a] := v;
    end;
    undefine network;
    undefine written;
    undefine reads_old;
    undefine is_before;
    undefine is_used_later;
    start(m);
  end;
end;

ruleset p: Cache; a: Address do
  alias state: cache[p][a].state do
    rule "read hit"
      (may_read(p) | has_bug(26)) & (state = E | state = M | state = S | state = SRO)
    ==>
      read_hit(p, a);
    end;

    -- A hit in S is allowed for a number of times only, so at any time it may be a miss.
    rule "read miss" may_read(p) & (state = I | state = S) ==>
      read_miss(p, a);
    end;

    ruleset v: Value do
      rule "write hit"
        may_write(p) & (state = E | state = M | has_bug(25) & state = S) & may_write_value(p, a, v)
      ==>
        write_hit(p, a, v);
      end;
    end;

    rule "write miss"
      may_write(p) & (state = I | state = S | state = SRO) & may_write_miss(p, a)
    ==>
      write_miss(p, a);
    end;

    rule "evict" may_evict(p) & (state = S | state = SRO | state = E | state = M) ==>
      evict(p, a);
    end;
  end;
end;

choose i: network do
  ruleset p: Cache do
    rule "cache receives" network[i].dst = p & network[i].mtype != DataX ==>
    var m: Message;
    begin
      m := network[i];
      MultiSetRemove(i, network);
      cache_receives(p, m);
    end;

    ruleset v: Value do
      rule "cache receives DataX and writes"
        network[i].dst = p & network[i].mtype = DataX & may_write_value(p, network[i].addr, v)
      ==>
      var m: Message;
      begin
        m := network[i];
        MultiSetRemove(i, network);
        cache_gets_data_x(p, m.addr, m.ack);
        cache[p][m.addr].val := v;
        writes(p, m.addr, v);
      end;
    end;

    rule "cache receives DataX and writes another word"
      OTHER_WORDS = 1 & network[i].dst = p & network[i].mtype = DataX
    ==>
    var m: Message;
    begin
      m := network[i];
      MultiSetRemove(i, network);
      cache_gets_data_x(p, m.addr, m.ack);
      cache[p][m.addr].val := m.val;
      writes_another_word(p);
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

invariant "every processor may have the global memory in its buffer"
  is_global_possible();

invariant "store buffering: not both processors read the old value"
  !is_store_buffering();
