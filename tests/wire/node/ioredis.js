// ioredis: connects, asks alone and in a pipeline, and prints the replies. A complaint goes to stderr.
const Redis = require("ioredis");

const [host, port, , key] = process.argv.slice(2);

async function main() {
  const client = new Redis({ host, port: Number(port), connectionName: "wire" });
  client.on("error", (error) => console.error(error));
  const throttle = ["throttle", key, "2", "2", "3600"];
  const replies = {
    ping: await client.ping(),
    echo: await client.echo("hello"),
    first: await client.call(...throttle),
  };
  const pipeline = await client.pipeline([["call", ...throttle], ["call", ...throttle]]).exec();
  replies.pipeline = pipeline.map(([error, reply]) => error ?? reply);
  replies.cell = await client.call("cl.throttle", key + ":cell", "15", "30", "60");
  await client.quit();
  console.log(JSON.stringify(replies));
}

main();
