# A GenServer, an Agent and a DynamicSupervisor of Elixir, and their caller.
defmodule Shop.Clerk do
  use GenServer
  def start_link(n), do: GenServer.start_link(__MODULE__, n, name: __MODULE__)
  def init(n), do: {:ok, n}
  def handle_call(:price, _from, n), do: {:reply, n, n}
  def handle_cast(:note, n), do: {:noreply, n}
end

{:ok, _} = Supervisor.start_link([{Shop.Clerk, 1}, {DynamicSupervisor, name: Shop.Rooms}], strategy: :one_for_one)
{:ok, _} = Agent.start_link(fn -> 0 end, name: Shop.Count)
:ok = :pyusdt_vm.enable(%{unsafe: true})
wait = fn wait -> unless :pyusdt_vm.info().armed, do: (Process.sleep(10); wait.(wait)) end
wait.(wait)

for _ <- 1..20 do
  GenServer.call(Shop.Clerk, :price)
  GenServer.cast(Shop.Clerk, :note)
  Agent.get(Shop.Count, & &1)
  DynamicSupervisor.count_children(Shop.Rooms)
end

Process.sleep(500)
