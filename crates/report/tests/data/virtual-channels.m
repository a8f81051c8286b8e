-- A multiset per receiver: the index is where a message goes.
const Count: 2;
type
  Proc: scalarset(Count);
  Home: enum {HomeNode};
  Node: union {Home, Proc};
  Message: record mtype: enum {Get, Give}; src: Node; vc: 0..1; end;
var
  Net: array [Node] of multiset [2] of Message;
  Procs: array [Proc] of record asked: boolean; end;
  done: boolean;

startstate
  for p: Proc do Procs[p].asked := false; end;
  done := false;
end;

ruleset p: Proc do
  rule "ask" !Procs[p].asked ==>
    var message: Message;
    begin
    message.mtype := Get;
    message.src := p;
    message.vc := 1;
    MultiSetAdd(message, Net[HomeNode]);
    Procs[p].asked := true;
  end;
end;

ruleset n: Node do
  choose m: Net[n] do
    alias message: Net[n][m] do
      rule "serve" message.mtype = Get ==>
        var answer: Message;
        begin
        answer.mtype := Give;
        answer.src := n;
        answer.vc := 0;
        MultiSetAdd(answer, Net[message.src]);
        MultiSetRemove(m, Net[n]);
      end;
      rule "end" message.mtype = Give ==>
        done := true;
        MultiSetRemove(m, Net[n]);
      end;
    end;
  end;
end;

invariant "goes on" !done;
