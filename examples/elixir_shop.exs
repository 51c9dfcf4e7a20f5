# A shop in Elixir on cowboy, the web server of most Phoenix applications. It answers requests that it sends itself.
defmodule Shop do
  def init(request, status) do
    Process.sleep(if status == 200, do: 2, else: 20)
    {:ok, :cowboy_req.reply(status, %{}, "tea", request), status}
  end
end

{:ok, _} = Application.ensure_all_started(:cowboy)
{:ok, _} = Application.ensure_all_started(:inets)
rules = :cowboy_router.compile([{:_, [{"/item/:number", Shop, 200}, {"/checkout", Shop, 503}]}])
options = %{env: %{dispatch: rules}, stream_handlers: [:pyusdt_cowboy_h, :cowboy_stream_h]}
{:ok, _} = :cowboy.start_clear(:shop, [ip: {127, 0, 0, 1}, port: 0], options)

for number <- 1..20, path <- ["item/#{number}", "checkout"] do
  {:ok, _} = :httpc.request('http://127.0.0.1:#{:ranch.get_port(:shop)}/#{path}')
end
