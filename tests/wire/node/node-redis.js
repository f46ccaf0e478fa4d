// node-redis: connects, asks alone and in a pipeline, and prints the replies. A complaint goes to stderr.
const { createClient } = require("redis");

const [host, port, protocol, key] = process.argv.slice(2);

async function main() {
  const client = createClient({ socket: { host, port: Number(port) }, RESP: Number(protocol), name: "wire" });
  client.on("error", (error) => console.error(error));
  await client.connect();
  const throttle = ["THROTTLE", key, "2", "2", "3600"];
  const replies = {
    ping: await client.ping(),
    echo: await client.echo("hello"),
    first: await client.sendCommand(throttle),
    pipeline: await Promise.all([client.sendCommand(throttle), client.sendCommand(throttle)]),
    cell: await client.sendCommand(["CL.THROTTLE", key + ":cell", "15", "30", "60"]),
  };
  await client.close();
  console.log(JSON.stringify(replies));
}

main();
