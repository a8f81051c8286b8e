-- A queue from each node to each other one, with a count beside it.
type
  Proc: scalarset(2);
  Msg: record Mtype: enum {Ping, Pong}; Hops: 0..3; end;
  Queue: record Count: 0..2; Messages: array [0..1] of Msg; end;
var
  ReqNet: array [Proc] of array [Proc] of Queue;
  hops: 0..3;

startstate "silent"
  for p: Proc do for q: Proc do ReqNet[p][q].Count := 0; end; end;
  hops := 0;
end;

ruleset p: Proc; q: Proc do
  rule "ping" hops = 0 & p != q ==>
    ReqNet[p][q].Messages[0].Mtype := Ping;
    ReqNet[p][q].Messages[0].Hops := 1;
    ReqNet[p][q].Count := 1;
    hops := 1;
  end;
  rule "pong" ReqNet[p][q].Count = 1 & hops < 3 ==>
    hops := hops + 1;
    ReqNet[q][p].Messages[0].Mtype := Pong;
    ReqNet[q][p].Messages[0].Hops := hops;
    ReqNet[q][p].Count := 1;
    undefine ReqNet[p][q].Messages[0];
    ReqNet[p][q].Count := 0;
  end;
end;

invariant "few hops" hops < 3;
