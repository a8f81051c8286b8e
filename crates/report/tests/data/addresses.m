-- Messages with addresses in a multiset: a broadcast, answers that overtake each other, a message to oneself, and one that
-- is never received.
const Count: 3;
type
  Proc: scalarset(Count);
  Home: enum {Memory};
  Node: union {Home, Proc};
  Message: record
    mtype: enum {Ask, Answer, Note};
    src: Node;
    dst: Node;
    val: 0..3;
  end;
var
  net: multiset [8] of Message;
  answers: 0..3;
  asked: boolean;
  seen: array [Proc] of boolean;


startstate "quiet"
  answers := 0;
  asked := false;
  for p: Proc do seen[p] := false; end;
end;

rule "ask all" !asked ==>
  var message: Message;
  begin
  asked := true;
  message.mtype := Ask;
  message.src := Memory;
  for p: Proc do
    message.dst := p;
    MultiSetAdd(message, net);
  end;
  message.mtype := Note;
  message.dst := Memory;
  MultiSetAdd(message, net);
end;

choose m: net do
  ruleset p: Proc do
    rule "answer" net[m].mtype = Ask & net[m].dst = p ==>
      var message: Message;
      begin
      message.mtype := Answer;
      message.src := p;
      message.dst := Memory;
      message.val := answers;
      seen[p] := true;
      MultiSetRemove(m, net);
      MultiSetAdd(message, net);
    end;
  end;
  rule "count" net[m].mtype = Answer ==>
    answers := answers + 1;
    MultiSetRemove(m, net);
  end;
end;

invariant "not two answers" answers < 2;
