"""`mcp_client.py COMMAND ARG…`: the SDK's own client of a server on the standard streams.  It reads calls from its standard input, a JSON
array [tool, arguments] a line, and prints an answer a line: [error, text, structured]; first the tools, [[name, schema, read only] …]."""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


async def main() -> None:
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(server) as client:
        listed = await client.list_tools()
        print(json.dumps([[tool.name, tool.input_schema, tool.annotations.read_only_hint] for tool in listed.tools]), flush=True)  # fmt: skip
        for line in sys.stdin:
            name, arguments = json.loads(line)
            found = await client.call_tool(name, arguments)
            text = "".join(part.text for part in found.content)
            print(json.dumps([found.is_error, text, found.structured_content]), flush=True)


asyncio.run(main())
