-- The directory protocol of directory-race.m, fixed: a cache that gives up a copy before it has come remembers that.

const
  CacheCount: 2;
  NetworkSize: 3 * CacheCount;

type
  Cache: scalarset(CacheCount);
  Home: enum {Directory};
  Node: union {Home, Cache};
  Value: 0..1;
  MessageType: enum {
    GetS, GetM,     -- a cache asks to read, or to write
    DataS, DataM,   -- the directory lets it
    Inv, Recall,    -- the directory wants a copy back from a reader, from the writer
    Ack             -- the cache has given its copy back
  };
  Message: record
    mtype: MessageType;
    src: Node;
    dst: Node;
    val: Value;
  end;
  CacheState: enum {
    I, S, M,        -- nothing; may read; may write
    IS, IM,         -- has asked to read, to write, and waits for data
    ISI             -- as IS, but the copy is given up already: read once, and keep nothing
  };

var
  cache: array [Cache] of record
    state: CacheState;
    val: Value;
  end;
  directory: record
    busy: boolean;                     -- serves a request
    request: MessageType;              -- which one
    requester: Cache;                  -- whose
    holds: array [Cache] of boolean;   -- who has a copy
    owned: boolean;                    -- whether that copy may be written
    waits: array [Cache] of boolean;   -- whose Ack is missing
    val: Value;                        -- the value in memory
  end;
  network: multiset [NetworkSize] of Message;
  latest: Value;                       -- what was written last; only for the invariant

procedure Send(mtype: MessageType; src: Node; dst: Node);
var message: Message;
begin
  message.mtype := mtype;
  message.src := src;
  message.dst := dst;
  MultiSetAdd(message, network);
end;

procedure SendValue(mtype: MessageType; src: Node; dst: Node; val: Value);
var message: Message;
begin
  message.mtype := mtype;
  message.src := src;
  message.dst := dst;
  message.val := val;
  MultiSetAdd(message, network);
end;

startstate "nobody has a copy"
  for c: Cache do
    cache[c].state := I;
    directory.holds[c] := false;
    directory.waits[c] := false;
  end;
  directory.busy := false;
  directory.owned := false;
  directory.val := 0;
  latest := 0;
end;

-- What caches want.
ruleset c: Cache do
  rule "read miss"
    cache[c].state = I
  ==>
    Send(GetS, c, Directory);
    cache[c].state := IS;
  end;

  rule "write miss"
    cache[c].state = I | cache[c].state = S
  ==>
    Send(GetM, c, Directory);
    cache[c].state := IM;
    undefine cache[c].val;
  end;

  rule "write hit"
    cache[c].state = M
  ==>
    cache[c].val := 1 - cache[c].val;
    latest := cache[c].val;
  end;
end;

-- What caches are told.
ruleset c: Cache do
  choose m: network do
    alias message: network[m] do
      rule "data for reading arrives"
        message.dst = c & message.mtype = DataS
      ==>
        if cache[c].state = ISI then
          cache[c].state := I;
        else
          cache[c].state := S;
          cache[c].val := message.val;
        end;
        MultiSetRemove(m, network);
      end;

      rule "data for writing arrives"
        message.dst = c & message.mtype = DataM
      ==>
        cache[c].state := M;
        cache[c].val := 1 - message.val;
        latest := cache[c].val;
        MultiSetRemove(m, network);
      end;

      rule "a reader gives up its copy"
        message.dst = c & message.mtype = Inv
      ==>
        if cache[c].state = S then
          cache[c].state := I;
          undefine cache[c].val;
        elsif cache[c].state = IS then
          cache[c].state := ISI;
        end;
        MultiSetRemove(m, network);
        Send(Ack, c, Directory);
      end;

      rule "the writer gives up its copy"
        message.dst = c & message.mtype = Recall & cache[c].state = M
      ==>
        MultiSetRemove(m, network);
        SendValue(Ack, c, Directory, cache[c].val);
        cache[c].state := I;
        undefine cache[c].val;
      end;
    end;
  end;
end;

-- What the directory does: one request at a time.
ruleset c: Cache do
  choose m: network do
    alias message: network[m] do
      rule "the directory takes a request"
        !directory.busy & message.src = c & message.dst = Directory
        & (message.mtype = GetS | message.mtype = GetM)
      ==>
        directory.busy := true;
        directory.request := message.mtype;
        directory.requester := c;
        for other: Cache do
          if other != c & directory.holds[other] then
            if directory.owned then
              Send(Recall, Directory, other);
              directory.waits[other] := true;
            elsif message.mtype = GetM then
              Send(Inv, Directory, other);
              directory.waits[other] := true;
            end;
          end;
        end;
        MultiSetRemove(m, network);
      end;

      rule "the directory takes a copy back"
        message.src = c & message.mtype = Ack
      ==>
        directory.holds[c] := false;
        directory.waits[c] := false;
        if directory.owned then
          directory.val := message.val;
          directory.owned := false;
        end;
        MultiSetRemove(m, network);
      end;
    end;
  end;
end;

rule "the directory answers"
  directory.busy & forall c: Cache do !directory.waits[c] end
==>
  if directory.request = GetS then
    SendValue(DataS, Directory, directory.requester, directory.val);
  else
    SendValue(DataM, Directory, directory.requester, directory.val);
    directory.owned := true;
  end;
  directory.holds[directory.requester] := true;
  directory.busy := false;
  undefine directory.request;
  undefine directory.requester;
end;

invariant "one writer, or readers"
  forall c: Cache do
    cache[c].state = M ->
      forall other: Cache do
        other != c -> cache[other].state != M & cache[other].state != S
      end
  end;

invariant "readers see the latest value"
  forall c: Cache do
    cache[c].state = S | cache[c].state = M -> cache[c].val = latest
  end;
