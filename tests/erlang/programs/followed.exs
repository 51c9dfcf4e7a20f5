# A tag that a process puts once, on its way through Elixir's Task, GenServer and Agent.
defmodule Shop do
  use GenServer
  def init(_), do: {:ok, 0}
  def handle_call(text, _, state), do: (:pyusdt.p(text); {:reply, text, state})
  def handle_cast(text, state), do: (:pyusdt.p(text); {:noreply, state})
end

{:ok, shop} = GenServer.start_link(Shop, 0)
{:ok, agent} = Agent.start_link(fn -> 0 end)
wait = fn wait -> :pyusdt.enabled() || (Process.sleep(10); wait.(wait)) end
wait.(wait)

front = fn ->
  :pyusdt.put_tag("order 17")
  :pyusdt.p("front")
  GenServer.call(shop, "call")
  GenServer.cast(shop, "cast")
  Task.await(Task.async(fn -> :pyusdt.p("task") end))
  Agent.get(agent, fn _ -> :pyusdt.p("agent") end)
  Task.async_stream(1..2, fn n -> :pyusdt.p("stream #{n}") end) |> Enum.to_list()
end

parent = self()
spawn(fn -> front.(); send(parent, :done) end)
receive do :done -> :ok end
