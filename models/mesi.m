-- MESI with a directory, on a network without order.
--
-- Models:  the protocol of msi.m with a state E: a reader that finds no other copy gets the line
--          as if it were the owner, and may write it later without asking. The scheme is that of
--          V. Nagarajan, D. J. Sorin, M. D. Hill and D. A. Wood, "A Primer on Memory Consistency
--          and Cache Coherence", 2nd edition, chapter 8; the tables are our own.
-- Network: one multiset. What the directory cannot serve yet stays in it.
-- Sizes:   CACHES caches, VALUES data values, one address.
-- Checks:  one owner or any number of readers; every readable copy has the value that was
--          written last, and so has the memory while no cache has the line modified. Every
--          message that a table has no entry for is an error.
-- Wrong:   --const BUG=1  a write to a line in E does not make it M, so its eviction loses data.
--          --const BUG=2  the directory gives a line in E away while others share it.
--          --const BUG=3  a cache that evicts a line in E does not answer what is forwarded.

const
  CACHES: 2;
  VALUES: 2;
  BUG: 0;
  NETWORK: 2 * CACHES + 2;        -- Messages under way at most.

type
  Cache: scalarset(CACHES);
  DirectoryNode: enum {Directory};
  Node: union {DirectoryNode, Cache};
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
  cache: array [Cache] of record
    state: CacheState;
    val: Value;
    to_write: Value;              -- What the processor waits to write.
    acks_came: AckCount;
    acks_due: AckCount;           -- Defined when the data came.
  end;
  directory: record
    state: DirectoryState;
    val: Value;
    owner: Cache;
    sharers: array [Cache] of boolean;
  end;
  network: multiset [NETWORK] of Message;

  -- For the properties only.
  last_written: Value;

-- Sending.

procedure send(t: MessageType; from: Node; to_: Node);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := from;
  m.dst := to_;
  MultiSetAdd(m, network);
end;

procedure send_value(t: MessageType; from: Node; to_: Node; v: Value; acks: AckCount);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := from;
  m.dst := to_;
  m.val := v;
  if t = Data then
    m.acks := acks;
  end;
  MultiSetAdd(m, network);
end;

procedure forward(t: MessageType; to_: Node; r: Cache);
var m: Message;
begin
  undefine m;
  m.mtype := t;
  m.src := Directory;
  m.dst := to_;
  m.requester := r;
  MultiSetAdd(m, network);
end;

-- The cache.

procedure perform_write(p: Cache);
begin
  alias line: cache[p] do
    line.state := M;
    line.val := line.to_write;
    last_written := line.to_write;
    undefine line.to_write;
    undefine line.acks_due;
    line.acks_came := 0;
    send(Done, p, Directory);
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
  alias line: cache[p] do
    switch m.mtype

    case Data:
      switch line.state
      case IS_D:
        line.state := S;
        line.val := m.val;
        send(Done, p, Directory);
        assert "a read miss returns the value that was written last" m.val = last_written;
      case IM_D:
        line.val := m.val;
        line.acks_due := m.acks;
        if line.acks_due = line.acks_came then
          perform_write(p);
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
        send(Done, p, Directory);
        assert "a read miss alone returns the value that was written last" m.val = last_written;
      else unexpected_at_cache(line.state);
      end;

    case InvAck:
      switch line.state
      case IM_D:
        line.acks_came := line.acks_came + 1;
      case IM_A:
        line.acks_came := line.acks_came + 1;
        if line.acks_due = line.acks_came then
          perform_write(p);
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
        send(InvAck, p, m.requester);
      case I, IS_D, IM_D, II_A:
        send(InvAck, p, m.requester);
      else unexpected_at_cache(line.state);
      end;

    case FwdGetS:
      switch line.state
      case E, M:
        send_value(Data, p, m.requester, line.val, 0);
        send_value(CopyBack, p, Directory, line.val, 0);
        line.state := S;
      case EI_A, MI_A:
        if BUG = 3 & line.state = EI_A then unexpected_at_cache(line.state); end;
        send_value(Data, p, m.requester, line.val, 0);
        send_value(CopyBack, p, Directory, line.val, 0);
        line.state := II_A;
      else unexpected_at_cache(line.state);
      end;

    case FwdGetM:
      switch line.state
      case E, M:
        send_value(Data, p, m.requester, line.val, 0);
        line.state := I;
        undefine line.val;
      case EI_A, MI_A:
        if BUG = 3 & line.state = EI_A then unexpected_at_cache(line.state); end;
        send_value(Data, p, m.requester, line.val, 0);
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

procedure invalidate_sharers(r: Cache);
begin
  for q: Cache do
    if q != r & directory.sharers[q] then
      forward(Inv, q, r);
    end;
    directory.sharers[q] := false;
  end;
end;

function sharers_but(r: Cache): AckCount;
var count: AckCount;
begin
  count := 0;
  for q: Cache do
    if q != r & directory.sharers[q] then
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
  alias d: directory do
    switch m.mtype

    case GetS:
      switch d.state
      case DirI, DirS:
        if d.state = DirI | BUG = 2 then
          send_value(DataE, Directory, r, d.val, 0);
          d.owner := r;
          d.state := AwaitDoneE;
        else
          send_value(Data, Directory, r, d.val, 0);
          d.sharers[r] := true;
          d.state := AwaitDoneS;
        end;
      case DirE:
        forward(FwdGetS, d.owner, r);
        d.sharers[d.owner] := true;
        d.sharers[r] := true;
        undefine d.owner;
        d.state := AwaitBoth;
      else error "the directory stalls GetS in this state";
      end;

    case GetM:
      switch d.state
      case DirI, DirS:
        send_value(Data, Directory, r, d.val, sharers_but(r));
        invalidate_sharers(r);
        d.owner := r;
        d.state := AwaitDoneE;
      case DirE:
        forward(FwdGetM, d.owner, r);
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
      send(PutAck, Directory, r);

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

-- Rules.

ruleset v: Value do
  startstate "no cache has the line"
    for p: Cache do
      undefine cache[p];
      cache[p].state := I;
      cache[p].acks_came := 0;
      directory.sharers[p] := false;
    end;
    directory.state := DirI;
    undefine directory.owner;
    directory.val := v;
    undefine network;
    last_written := v;
  end;
end;

ruleset p: Cache do
  alias line: cache[p] do
    rule "read miss" line.state = I ==>
      send(GetS, p, Directory);
      line.state := IS_D;
    end;

    ruleset v: Value do
      rule "write miss" line.state = I | line.state = S ==>
        send(GetM, p, Directory);
        line.to_write := v;
        undefine line.val;
        line.state := IM_D;
      end;

      rule "write hit" line.state = E | line.state = M ==>
        if BUG != 1 then line.state := M; end;
        line.val := v;
        last_written := v;
      end;
    end;

    rule "evict a shared line" line.state = S ==>
      line.state := I;
      undefine line.val;
    end;

    rule "evict a clean line that is the only copy" line.state = E ==>
      send(PutE, p, Directory);
      line.state := EI_A;
    end;

    rule "evict a modified line" line.state = M ==>
      send_value(PutM, p, Directory, line.val, 0);
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

  rule "directory receives"
    network[i].dst = Directory & (is_request(network[i].mtype) -> is_stable(directory.state))
  ==>
  var m: Message;
  begin
    m := network[i];
    MultiSetRemove(i, network);
    directory_receives(m);
  end;
end;

-- Properties.

invariant "one owner or any number of readers"
  forall p: Cache do
    cache[p].state = E | cache[p].state = M ->
      forall q: Cache do
        q != p -> cache[q].state != S & cache[q].state != E & cache[q].state != M
      end
  end;

invariant "every readable copy has the value that was written last"
  forall p: Cache do
    cache[p].state = S | cache[p].state = E | cache[p].state = M -> cache[p].val = last_written
  end;

invariant "memory has the value that was written last while no cache owns the line"
  directory.state = DirI | directory.state = DirS | directory.state = AwaitDoneS ->
    directory.val = last_written;

invariant "memory has the value of a clean copy"
  forall p: Cache do
    cache[p].state = E -> directory.val = cache[p].val
  end;
